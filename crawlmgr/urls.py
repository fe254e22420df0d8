"""URLs of the web server: the desk (web interface), API, health check, metrics, language choice,
exports by secret address."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from crawlmgr import api
from crawlmgr.admin.apps import load_pages
from crawlmgr.exports.downloads import by_address
from crawlmgr.workers.metrics import healthz, metrics_page

load_pages()
api.load()
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", healthz),
    path("metrics", metrics_page),
    path("exports/<str:secret>", by_address, name="export-address"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", api.api.urls),
    path("admin/", admin.site.urls),
]

handler400 = "crawlmgr.admin.errors.bad_request"
handler403 = "crawlmgr.admin.errors.denied"
handler404 = "crawlmgr.admin.errors.missing"
handler500 = "crawlmgr.admin.errors.broken"
