/** The files of the page: read once, served with a tag so that a browser asks again without loading again. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Request, RequestHandler, Response } from 'express';

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The page runs nothing and loads nothing but its own files, and text never becomes markup: what a stranger writes on
 * the chain stays text even if a script of the page should be wrong (Trusted Types).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Serves a file of the folder `page`, or what was made of it. */
export function asset(name: string, bytes = readAsset(name)): RequestHandler {
  const tag = tagOf(bytes);
  return (request, response) => send(request, response, { name, bytes, tag });
}

/** The bytes of a file of the folder `page`. */
export function readAsset(name: string): Buffer {
  return readFileSync(new URL(`page/${name}`, import.meta.url));
}

/** Sends a page that was made for this request. */
export function sendPage(request: Request, response: Response, html: string): void {
  const bytes = Buffer.from(html);
  send(request, response, { name: 'page.html', bytes, tag: tagOf(bytes) });
}

function tagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}

interface Asset {
  name: string;
  bytes: Buffer;
  tag: string;
}

function send(request: Request, response: Response, { name, bytes, tag }: Asset): void {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('ETag', tag);
  if (request.headers['if-none-match'] === tag) {
    response.status(304).end();
    return;
  }
  response.setHeader('Content-Type', TYPES[name.slice(name.lastIndexOf('.') + 1)]);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
