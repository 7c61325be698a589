"""The sidebar's button to sign in or out, with name and role, where a login provider is set up."""

from __future__ import annotations

import streamlit as st

from pages.visitor import identity


def draw() -> None:
    """Draw it; nothing without a login provider."""
    if not identity.login_is_on():
        return
    who = identity.person()
    with st.sidebar.container(key="account"):
        if who.why:
            st.caption(who.why)
        if not identity.signed_in():
            st.button("Sign in", key="account.in", icon=":material/login:", on_click=st.login)
            return
        if who.signed_in:
            st.text(f"{who.name} · {who.role}")
        st.button("Sign out", key="account.out", icon=":material/logout:", on_click=st.logout)
