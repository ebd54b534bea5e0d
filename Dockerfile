# The console in browsers, over a desk in a volume:
#     docker build -t reviewdesk .
#     docker run --rm -v desk:/desk -v "$PWD:/in:ro" reviewdesk ingest /in/report.json
#     docker run --rm -p 127.0.0.1:8765:8765 -v desk:/desk reviewdesk
# It prints the link to open. Behind a proxy, name the address that people type:
#     docker run ... reviewdesk serve --host 0.0.0.0 --public-url https://desk.example.org
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE requirements.lock ./
COPY reviewdesk reviewdesk
COPY sample_runs sample_runs
# pip takes no hashes for a folder, so of the lock file it takes the versions.
RUN sed -n '/^[a-z0-9]/s/ *\\$//p' requirements.lock > versions.txt \
    && python -m venv /opt/reviewdesk \
    && /opt/reviewdesk/bin/pip install --no-cache-dir --constraint versions.txt '.[web]'

FROM python:3.13-slim
COPY --from=build /opt/reviewdesk /opt/reviewdesk
RUN useradd --create-home --uid 10001 reviewer && install -d -o reviewer /desk
USER reviewer
ENV PATH=/opt/reviewdesk/bin:$PATH PYTHONUTF8=1 REVIEWDESK_DESK=/desk/desk.db
VOLUME /desk
EXPOSE 8765
ENTRYPOINT ["reviewdesk"]
CMD ["serve", "--host", "0.0.0.0", "--public-url", "http://localhost:8765"]
