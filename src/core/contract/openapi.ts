import { z } from 'zod'
import { catalogue, type ProblemCode, trimmedPattern } from '../kit/index.ts'
import { type Auth, type Contract, type EndpointShape, isSchema, type Multipart, methods, type StreamAnswer } from './endpoint.ts'

const Violation = z.object({
  code: z.string(),
  message: z.string(),
  file: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  element: z.string().optional(),
  path: z.array(z.string()).optional(),
})

const ErrorBody = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  details: z.array(z.object({ path: z.string(), reason: z.string() })).optional(),
  violations: z.array(z.union([z.string(), Violation])).optional(),
  added: z.array(z.string()).optional(),
  removed: z.array(z.string()).optional(),
})

/** The OpenAPI 3.1 document of a contract. `features` maps a feature's name (its tag) to its endpoints. */
export function openApiDocument(features: Features, info: Info): Record<string, unknown> {
  const steps = openApiInSteps(features, info)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

type Features = Readonly<Record<string, Contract>>
type Info = Readonly<{ title: string; version: string }>

/** The same in small steps: as a whole it takes a second or two of the thread. */
export function* openApiInSteps(features: Features, info: Info): Generator<undefined, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [feature, contract] of Object.entries(features)) {
    for (const [name, shape] of Object.entries(contract)) {
      const path = `${shape.path}${shape.rest ? '/:rest' : ''}`.replace(/:(\w+)/g, '{$1}')
      for (const method of shape.anyMethod ? methods : [shape.method]) {
        const operationId = shape.anyMethod ? `${name}${method[0]}${method.slice(1).toLowerCase()}` : name
        paths[path] = { ...paths[path], [method.toLowerCase()]: operation(feature, operationId, { ...shape, method }) }
        yield
      }
    }
  }
  const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas: { Error: jsonSchema(ErrorBody, 'output') },
      securitySchemes: {
        admin: bearer('Admin JWT or API token'),
        agent: bearer('JWT signed by the key of an enrolled host'),
        automation: { type: 'apiKey', in: 'header', name: 'X-Automation-Key', description: 'Key of an automation tool' },
        platform: bearer('Platform token of a user, from a login (`svc_jwt`)'),
        vendor: bearer('Token of the session of a vendor, from the link of a mail'),
      },
    },
  }
}

const securityOf = (auth: Auth) => {
  if (auth.kind === 'none') return []
  return [{ [auth.kind]: [] }, ...(auth.kind === 'platform' && auth.orAdmin ? [{ admin: [] }] : [])]
}

function operation(feature: string, name: string, shape: EndpointShape): Record<string, unknown> {
  return {
    tags: [feature],
    operationId: name,
    summary: shape.summary,
    ...(shape.spec ? { description: `Service specification, section ${shape.spec}.` } : {}),
    security: securityOf(shape.auth),
    ...(shape.auth.kind === 'admin' ? { 'x-lowest-role': shape.auth.role } : {}),
    ...(shape.auth.kind === 'platform' && shape.auth.capability ? { 'x-capability': shape.auth.capability } : {}),
    parameters: [
      ...parameters('path', shape.params),
      ...(shape.rest ? [restOfPath] : []),
      ...parameters('query', shape.query),
      ...(shape.tagged || isFile(shape) ? [ifNoneMatch] : []),
      ...(isFile(shape) ? [range, ifRange] : []),
      ...(shape.auth.kind === 'platform' && shape.auth.developer ? [developerId] : []),
      ...(shape.auth.kind === 'automation' && shape.method === 'POST' ? [idempotencyKey('within 24 hours ')] : []),
      ...(shape.idempotent ? [idempotencyKey('')] : []),
    ],
    ...requestBody(shape),
    responses: { ...success(shape), ...failures(shape) },
  }
}

function requestBody({ body, multipart, unread }: EndpointShape): Record<string, unknown> {
  if (unread) return { requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } } }
  if (multipart) return { requestBody: { required: true, content: { 'multipart/form-data': { schema: formSchema(multipart) } } } }
  if (!body) return {}
  const required = !body.safeParse({}).success // none sent is one without fields
  return { requestBody: { required, content: { 'application/json': { schema: jsonSchema(body, 'input') } } } }
}

function formSchema({ part, fields }: Multipart): Record<string, unknown> {
  const { properties = {}, required = [], ...rest } = jsonSchema(fields, 'input') as { properties?: object; required?: string[] }
  const bytes = { type: 'string', contentMediaType: 'application/octet-stream' }
  return { ...rest, properties: { ...properties, [part]: bytes }, required: [...required, part] }
}

function parameters(place: 'path' | 'query', schema: z.ZodType | undefined): Record<string, unknown>[] {
  if (!schema) return []
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as { properties?: Record<string, unknown>; required?: string[] }
  return Object.entries(properties).map(([name, inner]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: inner,
  }))
}

const isFile = ({ returns }: EndpointShape) => !isSchema(returns) && returns.kind === 'file'

const header = (name: string, description: string) => ({ name, in: 'header', required: false, description, schema: { type: 'string' } })
const ifNoneMatch = header('If-None-Match', 'The `ETag` of the response you have')
const restOfPath = { name: 'rest', in: 'path', required: true, description: 'May contain slashes', schema: { type: 'string' } }
const range = header('Range', 'One range, such as `bytes=1000-`; several or invalid ranges return the whole file')
const ifRange = header('If-Range', 'The `ETag` of the file you have a part of; a changed file is returned whole')

const developerId = { ...header('X-Developer-Id', 'The id of your developer account'), required: true }

const idempotencyKey = (time: string) => ({
  ...header('Idempotency-Key', `A repeat with the same key ${time}returns the same response and changes nothing`),
  schema: { type: 'string', pattern: '^[!-~]{1,200}$' },
})

const stillHolds = { 304: { description: 'Not modified; no body' } }
const responseHeader = (description: string) => ({ description, schema: { type: 'string' } })
const etag = { ETag: responseHeader('Changes with the content') }
const etagHeader = { headers: etag }

function success({ returns, status, tagged }: EndpointShape): Record<string, unknown> {
  if (isSchema(returns))
    return {
      [status ?? 200]: {
        description: 'Success',
        ...(tagged ? etagHeader : {}),
        content: { 'application/json': { schema: jsonSchema(returns, 'output') } },
      },
      ...(tagged ? stillHolds : {}),
    }
  if (returns.kind === 'empty') return { [status ?? 204]: { description: 'Done; no body' } }
  if (returns.kind === 'file') return fileAnswers
  if (returns.kind === 'raw') return { default: { description: 'The response of the module', content: { '*/*': {} } } }
  if (returns.kind === 'sse')
    return { 200: { description: 'An event stream that does not end', content: { 'text/event-stream': { schema: message(returns) } } } }
  const type = returns.contentType.split(';')[0] as string
  return { [status ?? 200]: { description: 'Success', content: { [type]: { schema: { type: 'string' } } } } }
}

/** One message of an event stream, as its readers have it. */
const message = ({ event }: StreamAnswer) => ({
  type: 'object',
  properties: {
    id: { type: 'string' },
    event: { type: 'string' },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema: jsonSchema(event, 'output') },
  },
  required: ['event', 'data'],
})

const bytes = { 'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } } }
const ofFile = { ...etag, 'Accept-Ranges': responseHeader('`bytes`: ranges are supported') }
const fileAnswers = {
  200: {
    description: 'The content, with its own media type if it is an image or a PDF',
    headers: ofFile,
    content: { ...bytes, '*/*': {} },
  },
  206: {
    description: 'The requested range',
    headers: { ...ofFile, 'Content-Range': responseHeader('Range and total size, such as `bytes 1000-4999/5000`') },
    content: { ...bytes, '*/*': {} },
  },
  ...stillHolds,
}
const outOfRange = { headers: { 'Content-Range': responseHeader('Total size, such as `bytes */5000`') } }

/** Problems that an endpoint can raise without naming them, from the way it is called. */
const impliedProblems = ({ auth, params, query, body, multipart, returns }: EndpointShape): readonly ProblemCode[] => [
  ...(params || query || body || multipart ? (['VALIDATION'] as const) : []),
  ...(body ? (['BAD_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
  ...(multipart ? (['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
  ...(!isSchema(returns) && returns.kind === 'file' ? (['RANGE_NOT_SATISFIABLE'] as const) : []),
  ...authProblems(auth),
  ...(params ? (['NOT_FOUND'] as const) : []),
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
]

function authProblems(auth: Auth): readonly ProblemCode[] {
  if (auth.kind === 'none') return []
  // CONFLICT asks an agent to say hello first.
  if (auth.kind === 'agent') return ['UNAUTHENTICATED', 'HOST_REVOKED', 'HOST_FROZEN', 'CLOCK_SKEW', 'CONFLICT']
  if (auth.kind === 'automation') return ['UNAUTHENTICATED', 'FORBIDDEN', 'TENANT_SUSPENDED', 'VALIDATION']
  if (auth.kind === 'vendor') return ['UNAUTHENTICATED']
  if (auth.kind === 'platform')
    return auth.capability || auth.developer || auth.orAdmin
      ? ['UNAUTHENTICATED', 'INVALID_MATRIX_TOKEN', 'FORBIDDEN']
      : ['UNAUTHENTICATED', 'INVALID_MATRIX_TOKEN']
  return [
    ...(['UNAUTHENTICATED', 'FORBIDDEN'] as const),
    ...(auth.setup ? [] : (['SETUP_REQUIRED'] as const)),
    ...(auth.reauthenticated ? (['REAUTHENTICATION_REQUIRED'] as const) : []),
  ]
}

/** Every problem that an endpoint may answer with. */
export const problemsOf = (shape: EndpointShape): ReadonlySet<ProblemCode> =>
  new Set([...impliedProblems(shape), ...(shape.problems ?? [])])

function failures(shape: EndpointShape): Record<string, unknown> {
  const byStatus = new Map<number, Set<ProblemCode>>()
  for (const code of problemsOf(shape)) {
    const { status } = catalogue[code]
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code))
  }
  const answer = (codes: Set<ProblemCode>) => ({
    description: [...codes].map((code) => `\`${code}\`: ${catalogue[code].title}`).join('. '),
    ...(codes.has('RANGE_NOT_SATISFIABLE') ? outOfRange : {}),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  })
  return Object.fromEntries([...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [status, answer(codes)]))
}

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: describeTrimmed }) as Record<string, unknown>
  return rest
}

/** The shortest text counts without the space at its ends, which a length alone does not say. */
function describeTrimmed({
  zodSchema,
  jsonSchema,
}: Readonly<{ zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema }>): void {
  const { type, minLength = 0, pattern, allOf } = jsonSchema
  if (type !== 'string' || minLength === 0 || pattern !== undefined || allOf !== undefined || !isTrimmed(zodSchema)) return
  jsonSchema.pattern = trimmedPattern(minLength)
}

const isTrimmed = (schema: z.core.$ZodType): boolean => {
  const checks = (schema._zod.def as { checks?: readonly z.core.$ZodCheck[] }).checks ?? []
  return checks.some(({ _zod: { def } }) => 'tx' in def && typeof def.tx === 'function' && def.tx(' a ') === 'a')
}
