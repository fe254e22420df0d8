# The program with a desk and workers; its data is in the volume /data. Fewer libraries: --build-arg EXTRAS=postgres
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

# uv compares every library with the hashes of the lock, also when only some extras are installed.
FROM python:${PYTHON}-slim AS installed
ARG EXTRAS=postgres,redis,s3,parquet,chat,documents
ENV UV_COMPILE_BYTECODE=1
COPY --from=wheel /wheels /wheels
COPY requirements.lock /wheels/
RUN pip install --no-cache-dir uv==0.13.9
RUN python -m venv --without-pip /opt/crawlmgr
RUN uv pip install --python /opt/crawlmgr/bin/python --constraint /wheels/requirements.lock \
    "crawlmgr[${EXTRAS}] @ file://$(echo /wheels/*.whl)"

FROM python:${PYTHON}-slim
COPY --from=installed /opt/crawlmgr /opt/crawlmgr
RUN useradd --uid 10001 --create-home crawlmgr && mkdir -p /data && chown crawlmgr: /data
ENV PATH=/opt/crawlmgr/bin:$PATH CRAWLMGR_DATA=/data CRAWLMGR_LOG_TO=stderr
USER crawlmgr
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=60s --timeout=15s CMD ["python", "-c", "from http.client import HTTPConnection as C; \
c = C('127.0.0.1', 8000, timeout=10); c.request('GET', '/healthz'); exit(c.getresponse().status != 200)"]
CMD ["crawlmgr", "serve", "--bind", "0.0.0.0:8000"]
