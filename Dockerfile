FROM node:22-slim

WORKDIR /app
ENV NODE_ENV=production

COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force

COPY bin bin
COPY src src
COPY streams streams
COPY clickhouse clickhouse
# Compiles the sources: whoever runs the service may not write here.
RUN node bin/tonstream.js version

RUN mkdir /data && chown node:node /data
USER node
ENV TONSTREAM_DATA_DIR=/data TONSTREAM_HOST=0.0.0.0
VOLUME /data
EXPOSE 8081

ENTRYPOINT ["node", "/app/bin/tonstream.js"]
CMD ["start"]
