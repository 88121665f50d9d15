# One image for all roles of `todoku`: the binary, the built page, the labs. It does not hold the lab images
# (lab-images/build). docs/deploy.md says what of this file was tried.
#
#   docker build --tag todoku:local .                       builds everything in containers
#   docker build --target runtime --tag todoku:local .      takes what lies in prebuilt/: the binary `todoku`, the page `web/`
#
# The stage that runs comes first: builders that go through all stages up to the one wanted then build no other.

FROM debian:trixie-slim AS runtime
# The pattern matches nothing where there is no such folder, which is fine beside a file that is there.
COPY LICENSE-MIT LICENSE-APACHE prebuil[t] /srv/todoku/
COPY labs/ /srv/todoku/labs/
ENV TODOKU_WEB_DIR=/srv/todoku/web \
    TODOKU_LABS_DIR=/srv/todoku/labs \
    PATH=/srv/todoku:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /srv/todoku
# Nobody. A worker needs root: docker-compose.yml says so there.
USER 10001:10001
ENTRYPOINT ["/srv/todoku/todoku"]
CMD ["serve"]

FROM node:24-trixie-slim AS web
WORKDIR /build/web
COPY web/package.json web/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY web/ ./
RUN npm run build

FROM rust:1.95-slim-trixie AS server
WORKDIR /build
# The image's own toolchain, without the lints that rust-toolchain.toml asks for.
ENV RUSTUP_TOOLCHAIN=1.95.0
COPY Cargo.toml Cargo.lock ./
COPY .sqlx/ .sqlx/
COPY migrations/ migrations/
COPY server/ server/
RUN cargo build --release --locked --package todoku

FROM runtime
COPY --from=server /build/target/release/todoku /srv/todoku/todoku
COPY --from=web /build/web/dist/ /srv/todoku/web/
