/** The interactive page over the OpenAPI document: Swagger UI from its package, nothing from the network. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { type Router } from 'express';
import { serveGet } from './methods.ts';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tonstream API</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="icon" type="image/png" href="favicon-32x32.png">
</head>
<body>
<div id="ui"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="start.js"></script>
</body>
</html>
`;

/**
 * It runs and loads nothing but its own files, in no frame: keys are typed into it. Swagger UI sets styles by itself and
 * has its icons in `data:`.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#ui', deepLinking: true, tryItOutEnabled: true });\n`;
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/**
 * Serves `index.html` and what it needs; the document goes out as `openapi.json` and `doc.json`. It is made when it is
 * asked for the first time: that takes 0.2 s of every process that answers.
 */
export function documentation(makeDocument: () => object): Router {
  const router = express.Router();
  let text: string | null = null;
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const path of ['/openapi.json', '/doc.json']) {
    serveGet(router, path, (_request, response) => {
      text ??= JSON.stringify(makeDocument());
      response.type('application/json').send(text);
    });
  }
  serveGet(router, '/index.html', (_request, response) => {
    response.setHeader('Content-Security-Policy', POLICY);
    response.type('html').send(PAGE);
  });
  serveGet(router, '/start.js', (_request, response) => {
    response.type('text/javascript').send(START);
  });
  for (const name of ASSETS) {
    serveGet(router, `/${name}`, (_request, response) => response.sendFile(name, { root: folder, maxAge: '1d' }));
  }
  return router;
}
