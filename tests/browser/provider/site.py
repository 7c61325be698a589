"""What the provider says of its users, and its addresses; read once Django is configured."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest
from django.urls import include, path
from oauth2_provider.oauth2_validators import OAuth2Validator


class Claims(OAuth2Validator):  # type: ignore[misc]  # the package has no types
    """Adds the claims of `settings.PEOPLE` to the identity token and to the user's information."""

    oidc_claim_scope = None

    def get_additional_claims(self, request: HttpRequest) -> dict[str, Any]:
        """Return the claims of the user who signed in."""
        claims: dict[str, Any] = settings.PEOPLE[request.user.get_username()]
        return claims


urlpatterns = [
    path("login/", LoginView.as_view()),
    path("", include("oauth2_provider.urls")),
]
