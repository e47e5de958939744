# One image for watcher, worker and the example chat server; the command says which.
ARG NODE_IMAGE=node:22-bookworm-slim
ARG RUNTIME_IMAGE=${NODE_IMAGE}

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install script is needed to compile or to run.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${RUNTIME_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A volume that is first mounted here takes over this folder's owner.
RUN mkdir -p /transcripts && chown 1000:1000 /transcripts
# The official images' user "node", by number, so that any base will do.
USER 1000:1000
EXPOSE 8787
CMD ["node", "--enable-source-maps", "dist/services/watcher/main.js"]
