/** The OpenAPI 3.1 document, made from the declarations that the routes are served from. */
import { z } from 'zod';
import type { Route } from './v3/route.ts';
import { failure } from './v3/schemas.ts';

type JsonObject = Record<string, unknown>;

const SWITCHES = [
  { name: 'X-Timeout', type: 'integer', description: 'Milliseconds for each query of the request.' },
  { name: 'X-No-Address-Book', type: 'boolean', description: 'Leave the address book empty.' },
  { name: 'X-No-Metadata', type: 'boolean', description: 'Leave the metadata empty.' },
].map(({ name, type, description }) => ({ name, in: 'header', description, schema: { type } }));

const FAILURES: Record<string, string> = {
  404: 'Not indexed.',
  422: 'A parameter cannot be read or breaks a rule.',
  429: 'Too many queries at once: try again after the seconds in `Retry-After`.',
  500: 'The service failed.',
  503: 'The newest step is being written: try again after the seconds in `Retry-After`.',
};

/** `basePath`: where the routes are mounted. */
export function openApiDocument(routes: readonly Route[], basePath: string, version: string): JsonObject {
  const components: JsonObject = {};
  const paths: JsonObject = {};
  for (const route of routes) paths[route.path] = { get: operation(route, components) };
  return {
    openapi: '3.1.0',
    info: { title: 'tonstream', version, description: 'Blocks, transactions, messages and accounts of a TON network.' },
    servers: [{ url: basePath }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        header: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        query: { type: 'apiKey', in: 'query', name: 'api_key' },
      },
    },
    security: [{}, { header: [] }, { query: [] }],
  };
}

function operation(route: Route, components: JsonObject): JsonObject {
  const responses: JsonObject = { 200: answer('The answer.', reference(route.response, components)) };
  for (const [status, text] of Object.entries(FAILURES)) {
    responses[status] = answer(text, reference(failure, components));
  }
  return {
    operationId: route.path.slice(1),
    tags: [route.tag],
    summary: route.summary,
    parameters: [...parameters(route), ...SWITCHES],
    responses,
  };
}

function answer(description: string, schema: unknown): JsonObject {
  return { description, content: { 'application/json': { schema } } };
}

function parameters(route: Route): JsonObject[] {
  const { properties } = z.toJSONSchema(route.parameters, {
    io: 'input',
    unrepresentable: 'any',
    // zod drops the default of a type that transforms; the declaration's own is right.
    override: ({ zodSchema, jsonSchema }) => Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)),
  });
  return Object.entries(properties ?? {}).map(([name, property]) => {
    if (typeof property === 'boolean') return { name, in: 'query' };
    const { required, description, deprecated, ...schema }: JsonObject = property;
    const marks = { ...(required === true && { required }), ...(deprecated === true && { deprecated }) };
    return { name, in: 'query', ...marks, description, schema };
  });
}

/** Files the named schemas among the components and gives the reference to the outer one. */
function reference(type: z.ZodType, components: JsonObject): unknown {
  const text = JSON.stringify(z.toJSONSchema(z.object({ answer: type })));
  const schema: JsonObject = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/'));
  const { $defs, properties } = z
    .looseObject({ $defs: z.record(z.string(), z.looseObject({})), properties: z.looseObject({ answer: z.unknown() }) })
    .parse(schema);
  for (const [name, { id: _, ...definition }] of Object.entries($defs)) components[name] = definition;
  return properties.answer;
}
