import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { type Auth, type Bound, costs, type EndpointShape, isStream, methods } from '../../core/contract/index.ts'
import { type Actor, type Clock, problem } from '../../core/kit/index.ts'
import { addressSlots } from './address-limit.ts'
import { type AnswerDeps, answerCall, type EndpointDeps } from './answer-call.ts'
import {
  assertCapability,
  authenticateCall,
  checkCapability,
  findDeveloper,
  identify,
  type TenantOfCall,
  userOf,
} from './authenticate-call.ts'
import { allowSlowBody, hasBody } from './body-time.ts'
import { clientPaths } from './call-limits.ts'
import { makeKeepAlive } from './event-stream.ts'
import { revalidateIdentity } from './revalidate.ts'
import type { Served } from './serve.ts'
import { limitUnsigned } from './signed-callers.ts'
import { callerOf, workPlaces } from './work-places.ts'

/** A larger body may take longer than the limit of other bodies on a slow line. */
const maxShortBody = 1024 * 1024

/**
 * Registers the endpoints. Each checks identity, role and budget before it reads the body, then content type and input, then runs the handler.
 * Literal segments precede parameters for all methods: `GET /boxes/scan` is a wrong method, not a box named `scan`.
 */
export function registerEndpoints(app: Express, served: readonly Served[], deps: EndpointDeps): void {
  const shared = { ...deps, keepAlives: makeKeepAlive(deps.clock), places: workPlaces(deps, costs), bodyPlace: bodyPlaces(deps.clock) }
  for (const sharing of byPath(served)) {
    for (const one of sharing) {
      const register = one.endpoint.auth.kind === 'automation' ? registerAutomation : registerEndpoint
      register(app, one, shared)
    }
    const allowed = sharing.flatMap(({ endpoint }) => methodsOf(endpoint)).flatMap(withHead)
    const { endpoint } = sharing[0] as Served
    // `app.all` would add a layer for each of 35 methods.
    app.route(routeOf(endpoint)).all(countStrayCall(deps), methodNotAllowed(allowed))
  }
  app.use(countStrayCall(deps), ({ path }) => {
    throw problem('NOT_FOUND', `${path} does not exist. See /docs for all endpoints.`)
  })
}

/**
 * Marks calls of event streams, and those of users before the limits by address: a whole school may have one address, and all of its streams reconnect
 * after a restart.
 */
export function recogniseStreams(app: Express, served: readonly Served[], { authenticate }: EndpointDeps): void {
  for (const { endpoint } of served) {
    if (!isStream(endpoint)) continue
    const recognise: RequestHandler = async (request, response, next) => {
      response.locals.isStream = true
      if (endpoint.auth.kind === 'platform')
        response.locals.isUserStream = await userOf(request, authenticate).then(
          () => true,
          () => false,
        )
      next()
    }
    app.get(routeOf(endpoint), recognise)
  }
}

/** Groups endpoints by path, literal segments first. Parameter names do not distinguish paths. */
function byPath(served: readonly Served[]): readonly (readonly Served[])[] {
  const paths = new Map<string, Served[]>()
  for (const one of served) {
    const path = one.endpoint.path.replace(/:\w+/g, ':')
    paths.set(path, [...(paths.get(path) ?? []), one])
  }
  const rank = (path: string) => path.replace(/[^/:]+/g, '0').replaceAll(':', '1')
  const inOrder = [...paths.keys()].toSorted((a, b) => (rank(a) < rank(b) ? -1 : Number(rank(a) > rank(b))))
  return inOrder.map((path) => paths.get(path) as Served[])
}

/** A call of a user to no endpoint counts too, and its response has the limit headers. An invalid token changes nothing: 404 and 405 come first. */
const countStrayCall =
  ({ authenticate, limits }: EndpointDeps): RequestHandler =>
  async (request, response, next) => {
    const user = limits && (await userOf(request, authenticate).catch(() => undefined))
    response.locals.actor ??= user
    if (!user || (await limits.pass(response, user))) next()
  }

const methodNotAllowed =
  (methods: readonly string[]): RequestHandler =>
  ({ path, method }, response) => {
    response.set('allow', methods.join(', '))
    throw problem('METHOD_NOT_ALLOWED', `${path} supports ${methods.join(', ')}, not ${method}.`)
  }

type RegisterDeps = AnswerDeps & Readonly<{ bodyPlace: ReturnType<typeof bodyPlaces> }>

function registerEndpoint(app: Express, one: Served, deps: RegisterDeps): void {
  const { endpoint } = one
  const handlers = [
    ...limitAddress(endpoint, deps),
    authenticateCall(endpoint, deps),
    ...rateLimit(endpoint, deps),
    ...checkCapability(endpoint),
    ...readBody(endpoint, deps),
    ...revalidateIdentity(endpoint, {
      clock: deps.clock,
      identify: (request) => identify(endpoint.auth, request, deps.authenticate),
      assertCapability: (response) => assertCapability(endpoint.auth, response),
    }),
    ...findDeveloper(endpoint, deps),
    answerCall(one, deps),
  ]
  for (const method of methodsOf(endpoint)) app[method.toLowerCase() as 'get'](routeOf(endpoint), ...handlers)
}

/** Client paths have this limit before their routes. */
function limitAddress({ auth, path, unread }: EndpointShape, { limits, clock }: EndpointDeps): RequestHandler[] {
  if (!limits || auth.kind !== 'none') return []
  const own = clientPaths.some((prefix) => path.startsWith(`${prefix}/`)) ? [limits.share] : [limits.anonymous, limits.share]
  return unread ? limitUnsigned(clock, own) : own
}

/** A GET endpoint answers HEAD too. */
const withHead = (method: string): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])
const methodsOf = ({ anyMethod, method }: EndpointShape) => (anyMethod ? methods : [method])
const routeOf = ({ path, rest }: EndpointShape): string => (rest ? `${path}{/*rest}` : path)

/** The body may name the tenant whose budget the call counts against, so it is read before. A caller without a key is refused before that. */
function registerAutomation(app: Express, one: Served, deps: RegisterDeps): void {
  const { method, path } = one.endpoint
  const { authenticate, limits } = deps
  const identifyKey: RequestHandler = async (request, response, next) => {
    if (!authenticate.automation) throw problem('UNAUTHENTICATED', 'This daemon serves no automation tools.')
    response.locals.tenantOfCall = await authenticate.automation(request.get('x-automation-key'), request.ip)
    next()
  }
  const findTenant: RequestHandler = async (request, response, next) => {
    const named: unknown = method === 'GET' ? request.query : request.body
    const fields = typeof named === 'object' && named !== null ? named : {}
    const actor = await (response.locals.tenantOfCall as TenantOfCall)(fields as Record<string, unknown>, path)
    response.locals.actor = actor
    if (!limits || (await limits.pass(response, actor))) next()
  }
  app[method.toLowerCase() as 'get'](path, identifyKey, ...readBody(one.endpoint, deps), findTenant, answerCall(one, deps))
}

/** The caller is identified by now, so a body that takes minutes on a slow line may take them. */
function readBody(endpoint: EndpointShape, { bodyPlace }: Pick<RegisterDeps, 'bodyPlace'>): RequestHandler[] {
  const { body, multipart, bodyLimit = defaultBodyLimit } = endpoint
  const parse = express.json({ limit: bodyLimit, strict: false, type: () => true, verify: assertUtf8 })
  return [...(multipart || bodyLimit > maxShortBody ? [allowSlow] : []), ...(body ? [assertJson, bodyPlace(endpoint), parse] : [])]
}

/** The parser replaces bytes that are not UTF-8, and takes UTF-16 for JSON, which RFC 8259 does not know. */
function assertUtf8(...[, , body, charset]: [IncomingMessage, ServerResponse, Buffer, string]): void {
  if (charset !== 'utf-8') throw Object.assign(new Error(charset), { type: 'charset.unsupported' })
  if (!isUtf8(body)) throw Object.assign(new Error('not UTF-8'), { type: 'charset.mismatch' })
}

const allowSlow: RequestHandler = (_, response, next) => {
  allowSlowBody(response)
  next()
}

function assertJson(request: Request, _: Response, next: NextFunction): void {
  if (hasBody(request) && !request.is(['application/json', '+json']))
    throw problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
  next()
}

/** Openings of streams of one user that do not count against the budget of its tenant: a restart of the daemon must not use it up. */
const freeOpenings = { perSecond: 0.5, atOnce: 20, buffered: 0 }

/** Counts calls of users against the budget of their tenant. */
function rateLimit(endpoint: EndpointShape, { limits, clock }: EndpointDeps): RequestHandler[] {
  if (!limits || endpoint.auth.kind !== 'platform') return []
  const slotOf = isStream(endpoint) ? addressSlots(clock, freeOpenings) : undefined
  return [
    async (_, response, next) => {
      const actor = response.locals.actor as Actor
      if (!('tenantId' in actor)) return next()
      const isFree = slotOf && 'userId' in actor && 'slotMs' in slotOf(String(actor.userId))
      if (isFree) await limits.show(response, actor.tenantId)
      if (isFree || (await limits.pass(response, actor))) next()
    },
  ]
}

const defaultBodyLimit = 256 * 1024

/** A JSON body is in memory while it arrives, as slowly as its sender likes. */
const bounds = {
  small: { work: 'sends a body', perCaller: 64 },
  large: { work: 'sends more than 256 KB', perCaller: 8, perTenant: 32, parallel: 64, waiting: 500, maxWaitSeconds: 10 },
} as const satisfies Record<string, Bound>

/** Bounds the bodies that are under way: of users, operators, agents and strangers separately, so that none of them keeps out others. */
function bodyPlaces(clock: Clock): (endpoint: EndpointShape) => RequestHandler {
  const rooms = new Map<Auth['kind'], ReturnType<typeof workPlaces<keyof typeof bounds>>>()
  return ({ auth: { kind }, bodyLimit = defaultBodyLimit }) => {
    const room = rooms.get(kind) ?? workPlaces({ clock }, bounds)
    rooms.set(kind, room)
    return async (request, response, next) => {
      // Most bodies arrive together with their headers.
      if (!hasBody(request) || request.complete) return next()
      const over = new AbortController()
      request.once('close', () => over.abort())
      const caller = callerOf(response.locals.actor, request.ip ?? 'unknown')
      const free = await room.enter(bytesOf(request, bodyLimit) > defaultBodyLimit ? 'large' : 'small', caller, () => over.signal)
      if (request.destroyed) return free()
      request.once('end', free).once('close', free)
      next()
    }
  }
}

/** Only the limit of the endpoint is known of a body in chunks, and of one that grows when it is decoded. */
const bytesOf = ({ headers }: Request, limit: number): number =>
  headers['content-encoding'] === undefined && headers['content-length'] !== undefined ? Number(headers['content-length']) : limit
