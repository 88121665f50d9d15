# One image for all roles of `todoku`: the binary, the built page, the labs. It does not hold the lab images (./dev images).
# A skeleton: see docs/deploy.md for what of it was tried.

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

FROM debian:trixie-slim AS runtime
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin todoku
COPY --from=server /build/target/release/todoku /usr/local/bin/todoku
COPY --from=web /build/web/dist/ /srv/todoku/web/
COPY labs/ /srv/todoku/labs/
ENV TODOKU_WEB_DIR=/srv/todoku/web TODOKU_LABS_DIR=/srv/todoku/labs
WORKDIR /srv/todoku
# A worker needs root: docker-compose.yml says so there.
USER todoku
ENTRYPOINT ["/usr/local/bin/todoku"]
CMD ["serve"]
