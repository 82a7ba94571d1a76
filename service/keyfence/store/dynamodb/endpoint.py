"""`Endpoint`: the address of DynamoDB, with the region, the certificates and the proxy that boto3 would use."""

import base64
import os
import ssl
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit

import boto3
import botocore.session
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies, normalize_url_path

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy that forwards TLS connections by the method CONNECT."""

    host: str
    port: int
    uses_tls: bool = False
    authorization: str | None = field(default=None, repr=False)
    """The value of the header Proxy-Authorization, or None if the proxy needs no password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of DynamoDB, and how to connect to it."""

    region: str
    host: str
    port: int
    host_header: str
    """The host, and the port if it is not the default port."""
    path: str = "/"
    canonical_path: str = "/"
    """The path as it is written into the canonical request that is signed."""
    tls: ssl.SSLContext | None = None
    """The certificates to trust. None for an endpoint without TLS."""
    proxy: Proxy | None = None


def resolve_endpoint(region: str | None, endpoint_url: str | None) -> Endpoint:
    """Returns the endpoint. boto3's configuration is used for a region or a URL that is None.

    Raises ValueError if the URL, the proxy or the file of certificates is wrong. Raises an error of botocore if boto3
    finds no region. An endpoint without TLS is local, so it is called without a proxy."""
    url, region = _url_and_region(region, endpoint_url)
    parts = _split_url(url, "the endpoint of DynamoDB")
    is_https = parts.scheme == "https"
    tls = _tls_context() if is_https else None
    return Endpoint(
        region=region,
        host=parts.hostname or "",
        port=parts.port or DEFAULT_PORTS[parts.scheme],
        host_header=_host_header(parts),
        path=parts.path or "/",
        canonical_path=quote(normalize_url_path(parts.path), safe="/~"),
        tls=tls,
        proxy=_find_proxy(url) if is_https else None,
    )


def find_default_region() -> str | None:
    """Returns the region that boto3 finds in the environment or the configuration files, or None."""
    return boto3.Session().region_name


def _url_and_region(region: str | None, endpoint_url: str | None) -> tuple[str, str]:
    """Returns the URL and the region that boto3 would use: boto3 knows AWS partitions, FIPS endpoints and the
    AWS_ENDPOINT_URL variables."""
    if endpoint_url and region:
        return endpoint_url, region
    session = boto3.Session(aws_access_key_id="never-used", aws_secret_access_key="never-used")  # noqa: S106
    client = session.client("dynamodb", region_name=region, endpoint_url=endpoint_url)
    return client.meta.endpoint_url, client.meta.region_name


def _split_url(url: str, name: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or " " in url or parts.query or parts.fragment:
        raise ValueError(f"{name} must be a URL with http: or https:, a host, and no query")
    return parts


def _host_header(parts: SplitResult) -> str:
    host = parts.hostname or ""
    bracketed_host = f"[{host}]" if ":" in host else host
    if parts.port in {None, DEFAULT_PORTS[parts.scheme]}:
        return bracketed_host
    return f"{bracketed_host}:{parts.port}"


def _tls_context() -> ssl.SSLContext:
    path = _ca_bundle()
    try:
        context = ssl.create_default_context(cafile=path)
    except OSError as error:
        raise ValueError(f"the file of CA certificates {path} cannot be read: {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _ca_bundle() -> str:
    """Returns the file of CA certificates that boto3 would use: AWS_CA_BUNDLE or `ca_bundle` of the configuration file,
    then REQUESTS_CA_BUNDLE, then the certificates of the package certifi or botocore."""
    configured: str | None = botocore.session.get_session().get_config_variable("ca_bundle")
    return configured or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(verify=True) or ""


def _find_proxy(url: str) -> Proxy | None:
    """Returns the proxy of HTTPS_PROXY, or None if there is none or NO_PROXY names the host of the endpoint."""
    proxy_url = get_environ_proxies(url).get("https")
    if not proxy_url:
        return None
    if "://" not in proxy_url:
        proxy_url = f"http://{proxy_url.removeprefix('//')}"
    parts = _split_url(proxy_url, "HTTPS_PROXY")
    return Proxy(
        host=parts.hostname or "",
        port=parts.port or DEFAULT_PORTS[parts.scheme],
        uses_tls=parts.scheme == "https",
        authorization=_basic_authorization(parts),
    )


def _basic_authorization(parts: SplitResult) -> str | None:
    if not parts.username or not parts.password:
        return None
    user_and_password = f"{unquote(parts.username)}:{unquote(parts.password)}"
    return "Basic " + base64.b64encode(user_and_password.encode()).decode()
