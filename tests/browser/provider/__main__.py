"""A login provider on loopback: `python -m tests.browser.provider PORT FOLDER PEOPLE`.

It is Django with Django OAuth Toolkit, as organisations run it: users with passwords in a database,
a login form, consent, authorisation code with PKCE, identity tokens signed by RS256, logout.
PEOPLE is JSON: claims by name of the user; the password is `PASSWORD`.
"""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any, Final

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings

from tests.browser.provider import CLIENT, CLIENT_SECRET, PASSWORD

_FORM: Final = '<form method="post">{% csrf_token %}{{ form }}<button>Sign in</button></form>'
_KEY_BITS: Final = 2048


def configure(folder: Path, people: dict[str, dict[str, Any]]) -> None:
    """Configure Django: a database in `folder`, and the claims of `people`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "provider.db"}
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        LOGIN_URL="/login/",
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        OAUTH2_PROVIDER={
            "OAUTH2_VALIDATOR_CLASS": "tests.browser.provider.site.Claims",
            "OIDC_ENABLED": True,
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": pem,
            "SCOPES": {"openid": "Your identity", "profile": "Your groups", "email": "Your e-mail"},
        },
        PEOPLE=people,
        ROOT_URLCONF="tests.browser.provider.site",
        SECRET_KEY=secrets.token_hex(),
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        (
                            "django.template.loaders.locmem.Loader",
                            {"registration/login.html": _FORM},
                        ),
                        "django.template.loaders.app_directories.Loader",
                    ]
                },
            }
        ],
        USE_TZ=True,
    )
    django.setup()


def fill(people: dict[str, dict[str, Any]]) -> None:
    """Create the tables, the users and the client."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    users = get_user_model().objects
    for name in people:
        users.create_user(username=name, password=PASSWORD)
    application = get_application_model()
    application.objects.create(
        algorithm=application.RS256_ALGORITHM,
        authorization_grant_type=application.GRANT_AUTHORIZATION_CODE,
        client_id=CLIENT,
        client_secret=CLIENT_SECRET,
        client_type=application.CLIENT_CONFIDENTIAL,
        name="Epochwise",
        # RFC 8252: any port of a loopback address matches.
        post_logout_redirect_uris="http://127.0.0.1/",
        redirect_uris="http://127.0.0.1/oauth2callback",
    )


def main(port: int, folder: Path, people: dict[str, dict[str, Any]]) -> None:
    """Serve until the process ends."""
    configure(folder, people)
    fill(people)
    from django.core.servers.basehttp import run
    from django.core.wsgi import get_wsgi_application

    run("127.0.0.1", port, get_wsgi_application(), threading=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
