/** The OpenAPI 3.1 document of an API, made from the declarations that its routes are served from. */
import { z } from 'zod';
import type { Api, Asker, CallsByName, Failures, Method, Route } from './route.ts';

type JsonObject = Record<string, unknown>;

export function openApiDocument(api: Api): JsonObject {
  const { title, description } = api.document;
  const components: JsonObject = {};
  const paths: Record<string, JsonObject> = {};
  for (const route of api.routes) {
    const path = paths[route.path] ?? {};
    paths[route.path] = path;
    for (const method of route.methods) path[method.toLowerCase()] = operation(api, route, method, components);
  }
  if (api.calls) paths[api.calls.path] = { post: callByName(api, api.calls, components) };
  return {
    openapi: '3.1.0',
    info: { title, version: api.version, description },
    servers: [{ url: api.base }],
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

/** @param own why these requests are refused beside all others */
function responsesOf(
  { form, document }: Api,
  response: z.ZodType,
  own: Failures | undefined,
  components: JsonObject,
): JsonObject {
  const answerType = form.answerType?.(response) ?? response;
  const responses: JsonObject = { 200: content('The answer.', reference(answerType, components)) };
  for (const [status, text] of Object.entries({ ...document.failures, ...own })) {
    responses[status] = content(text, reference(form.refusalType, components));
  }
  return responses;
}

function callByName(api: Api, { path, tag, summary }: CallsByName, components: JsonObject): JsonObject {
  const called = api.routes.filter(({ methods }) => methods.includes('POST'));
  const body = {
    type: 'object',
    properties: {
      jsonrpc: { type: 'string', enum: ['2.0'] },
      id: { type: ['string', 'number', 'null'] },
      method: { type: 'string', enum: called.map((route) => route.path.slice(1)) },
      params: { type: 'object' },
    },
    required: ['method'],
  };
  const own: Failures = Object.assign({}, ...called.map(({ failures }) => failures));
  const responses = responsesOf(api, z.unknown(), own, components);
  return { operationId: path.slice(1), tags: [tag], summary, requestBody: content(undefined, body), responses };
}

function operation(api: Api, route: Route<Asker>, method: Method, components: JsonObject): JsonObject {
  const { document } = api;
  const headers = document.headers.map(({ name, type, description }) => ({
    name,
    in: 'header',
    description,
    schema: { type },
  }));
  const declared = declaredOf(route, components);
  const asked =
    method === 'POST'
      ? { parameters: headers, requestBody: content(undefined, membersSchema(declared)) }
      : { parameters: [...declared.map(queryParameter), ...headers] };
  const operationId = operationIdOf(api, route, method);
  const responses = responsesOf(api, route.response, route.failures, components);
  return { operationId, tags: [route.tag], summary: route.summary, ...asked, responses };
}

/** The path; of a path with GET the other methods have their names behind it. */
function operationIdOf({ routes }: Api, { path }: Route<Asker>, method: Method): string {
  const name = path.slice(1).replaceAll('/', '_');
  const hasGet = routes.some((route) => route.path === path && route.methods.includes('GET'));
  return method !== 'GET' && hasGet ? `${name}_${method.toLowerCase()}` : name;
}

function content(description: string | undefined, schema: unknown): JsonObject {
  const body = { content: { 'application/json': { schema } } };
  return description === undefined ? { required: true, ...body } : { description, ...body };
}

interface Declared {
  name: string;
  required: boolean;
  deprecated: boolean;
  description: unknown;
  schema: JsonObject;
}

function declaredOf(route: Route<Asker>, components: JsonObject): Declared[] {
  const schema = z.toJSONSchema(route.parameters, {
    io: 'input',
    unrepresentable: 'any',
    // zod drops the default of a type that transforms; the declaration's own is right.
    override: ({ zodSchema, jsonSchema }) => Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)),
  });
  const properties = z.record(z.string(), z.looseObject({})).parse(filed(schema, components).properties ?? {});
  return Object.entries(properties).map(([name, { required, description, deprecated, ...rest }]) => ({
    name,
    required: required === true,
    deprecated: deprecated === true,
    description,
    schema: rest,
  }));
}

function queryParameter({ name, required, deprecated, description, schema }: Declared): JsonObject {
  return { name, in: 'query', ...(required && { required }), ...(deprecated && { deprecated }), description, schema };
}

function membersSchema(declared: readonly Declared[]): JsonObject {
  const members = declared.map(({ name, deprecated, description, schema }) => [
    name,
    { description, ...(deprecated && { deprecated }), ...schema },
  ]);
  const required = declared.filter((one) => one.required).map(({ name }) => name);
  return { type: 'object', properties: Object.fromEntries(members), ...(required.length > 0 && { required }) };
}

const definitions = z.record(z.string(), z.looseObject({}));

/** Files the named schemas among the components and makes the rest refer to them there. */
function filed(schema: object, components: JsonObject): JsonObject {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $defs = {}, ...rest } = z.looseObject({ $defs: definitions.optional() }).parse(JSON.parse(text));
  for (const [name, { id: _, ...definition }] of Object.entries($defs)) components[name] = definition;
  return rest;
}

function reference(type: z.ZodType, components: JsonObject): unknown {
  const { properties } = filed(z.toJSONSchema(z.object({ answer: type })), components);
  return z.looseObject({ answer: z.unknown() }).parse(properties).answer;
}
