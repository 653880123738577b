import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { type Auth, boundOf, costOf, type EndpointShape, isSchema, methods, roleAtLeast } from '../../core/contract/index.ts'
import {
  type Actor,
  type AdminActor,
  type AgentActor,
  type AutomationActor,
  type Clock,
  type DeveloperActor,
  isProblem,
  type PlatformPrincipal,
  problem,
  type TokenActor,
} from '../../core/kit/index.ts'
import { addressLimit, addressSlots } from './address-limit.ts'
import { allowSlowBody, hasBody } from './body-time.ts'
import { type CallLimits, clientPaths } from './call-limits.ts'
import { type KeepAlive, makeKeepAlive, sendStream } from './event-stream.ts'
import { IncomingCall } from './incoming-call.ts'
import { type RawResponse, sendRaw } from './raw.ts'
import { revalidateIdentity, revalidateUntilEnd } from './revalidate.ts'
import { type FileBody, sendFile } from './send-file.ts'
import type { Served } from './serve.ts'

import { sendTagged, type Tagged } from './tagged.ts'
import { validateAnswer } from './validation.ts'
import { callerOf, type WorkPlaces, workPlaces } from './work-places.ts'

/** Turns the credentials of a request into an actor, or throws UNAUTHENTICATED. */
export type Authenticators = Readonly<{
  /** Throws for a session without completed setup unless `setup` is set. */
  admin(authorization: string | undefined, options?: { setup?: boolean }): Promise<AdminActor | TokenActor>
  /** An admin by the cookie of the web console; undefined for a call without one. Throws for a host name that is not the daemon's. */
  console?(headers: IncomingHttpHeaders, options: { setup?: boolean }): Promise<AdminActor | undefined>
  agent(authorization: string | undefined): Promise<AgentActor>
  /** The key of an automation tool. The second step follows once the tenant of the call is known. */
  automation?(key: string | undefined, address: string | undefined): Promise<TenantOfCall>
  /** The developer account of a user, by the header `X-Developer-Id`. Throws FORBIDDEN. */
  developer?(user: PlatformPrincipal, developerId: string | undefined): Promise<DeveloperActor>
  /** Throws INVALID_MATRIX_TOKEN for a chat token. */
  platform?(authorization: string | undefined): Promise<PlatformPrincipal>
}>

/** The tenant that a call of `path` names. Throws FORBIDDEN unless the caller may act for it. */
export type TenantOfCall = (named: Readonly<Record<string, unknown>>, path: string) => Promise<AutomationActor>

export type EndpointDeps = Readonly<{
  authenticate: Authenticators
  clock: Clock
  /** Aborts when the daemon drains, so that streaming clients reconnect to another replica. */
  draining: AbortSignal
  limits?: CallLimits
  /** Validates every response against its contract (in tests). */
  validateAnswers?: boolean
}>

type AnswerDeps = EndpointDeps & Readonly<{ keepAlives: KeepAlive; places: WorkPlaces }>

const defaultBodyLimit = 256 * 1024

/** A larger body may take longer than the limit of other bodies on a slow line. */
const maxShortBody = 1024 * 1024

/**
 * Registers the endpoints. Each checks identity, role and budget before it reads the body, then content type and input, then runs the handler.
 * Literal segments precede parameters for all methods: `GET /boxes/scan` is a wrong method, not a box named `scan`.
 */
export function registerEndpoints(app: Express, served: readonly Served[], deps: EndpointDeps): void {
  const shared = { ...deps, keepAlives: makeKeepAlive(deps.clock), places: workPlaces(deps) }
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

function registerEndpoint(app: Express, one: Served, deps: AnswerDeps): void {
  const { endpoint } = one
  const handlers = [
    ...limitAddress(endpoint, deps),
    authenticateCall(endpoint, deps),
    ...rateLimit(endpoint, deps),
    ...checkCapability(endpoint),
    ...readBody(endpoint),
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
function limitAddress({ auth, path }: EndpointShape, { limits }: EndpointDeps): RequestHandler[] {
  if (!limits || auth.kind !== 'none' || clientPaths.some((prefix) => path.startsWith(`${prefix}/`))) return []
  return [limits.anonymous]
}

/** A GET endpoint answers HEAD too. */
const withHead = (method: string): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])
const methodsOf = ({ anyMethod, method }: EndpointShape) => (anyMethod ? methods : [method])
const routeOf = ({ path, rest }: EndpointShape): string => (rest ? `${path}{/*rest}` : path)

/** The body may name the tenant whose budget the call counts against, so it is read before. A caller without a key is refused before that. */
function registerAutomation(app: Express, one: Served, deps: AnswerDeps): void {
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
  app[method.toLowerCase() as 'get'](path, identifyKey, ...readBody(one.endpoint), findTenant, answerCall(one, deps))
}

/** The caller is identified by now, so a body that takes minutes on a slow line may take them. */
const readBody = ({ body, multipart, bodyLimit = defaultBodyLimit }: EndpointShape): RequestHandler[] => [
  ...(multipart || bodyLimit > maxShortBody ? [allowSlow] : []),
  ...(body ? [assertJson, express.json({ limit: bodyLimit, strict: false, type: () => true, verify: assertUtf8 })] : []),
]

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

function authenticateCall({ auth, perAddress }: EndpointShape, { authenticate, clock }: EndpointDeps): RequestHandler {
  const limit = perAddress === undefined ? undefined : addressLimit(clock, perAddress)
  return async (request, response, next) => {
    // A caller that is not identified gets no other answer, and uses up no budget.
    const actor = await identify(auth, request, authenticate)
    limit?.(request.ip ?? 'unknown')
    if (actor) response.locals.actor = actor
    response.locals.identifiedAtMs = clock.monotonicMs()
    next()
  }
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

/** Runs after the rate limit: a call without the capability counts, and its response has the limit headers (spec 8). */
function checkCapability({ auth }: EndpointShape): RequestHandler[] {
  if (auth.kind !== 'platform' || !auth.capability) return []
  return [
    (_, response, next) => {
      assertCapability(auth, response)
      next()
    },
  ]
}

/** Last, because a repeated authentication replaces the actor by the user. */
function findDeveloper({ auth }: EndpointShape, { authenticate }: EndpointDeps): RequestHandler[] {
  if (auth.kind !== 'platform' || !auth.developer) return []
  return [
    async (request, response, next) => {
      if (!authenticate.developer) throw problem('FORBIDDEN', 'This daemon has no developers of modules.')
      response.locals.actor = await authenticate.developer(response.locals.actor, request.get('x-developer-id'))
      next()
    },
  ]
}

function assertCapability(auth: Auth, response: Response): void {
  if (auth.kind !== 'platform' || !auth.capability) return
  const actor = response.locals.actor as PlatformPrincipal | AdminActor
  if (actor.kind === 'user' && !actor.capabilities.includes(auth.capability))
    throw problem('FORBIDDEN', `This requires the capability ${auth.capability}; none of your roles grants it.`)
}

/** Runs the handler in a place of the endpoint's class of work, and answers. */
function answerCall(served: Served, deps: AnswerDeps): RequestHandler {
  const { endpoint } = served
  const cost = costOf(endpoint)
  // The body of an upload arrives as slowly as its sender likes, so its work begins after that.
  const isLate = endpoint.multipart !== undefined && boundOf(endpoint).parallel !== undefined
  return async (request, response) => {
    const actor: Actor | undefined = response.locals.actor
    let free: (() => void) | undefined
    const enter = async () => {
      free = await deps.places.enter(cost, callerOf(actor, request.ip ?? 'unknown'), () => call.signal)
    }
    const identifyAgain = () => identify(endpoint.auth, request, deps.authenticate)
    const received = () => identifyAgain().then(enter)
    const call = new IncomingCall({
      ...{ endpoint, request, response, actor, draining: deps.draining },
      revalidate: isLate ? received : identifyAgain,
    })
    try {
      if (!isLate) await enter()
      await runCall(served, { ...deps, request, response, call, revalidate: identifyAgain })
    } finally {
      free?.()
    }
  }
}

type Running = AnswerDeps &
  Readonly<{ request: Request; response: Response; call: IncomingCall; revalidate: () => Promise<Actor | undefined> }>

async function runCall({ endpoint, handler }: Served, { request, response, call, revalidate, ...deps }: Running): Promise<void> {
  const showLimits = async () => {
    if (call.tenantId !== undefined) await deps.limits?.show(response, call.tenantId)
  }
  let result: unknown
  try {
    result = await handler(call as never)
  } catch (error) {
    // A failed login must not reveal that the tenant exists.
    if (!isProblem(error, 'LOGIN_FAILED')) await showLimits()
    throw error
  }
  await showLimits()
  if (!isSchema(endpoint.returns) && endpoint.returns.kind === 'file') {
    const file = result as FileBody
    return sendFile({ request, response }, file, (download) => {
      const checkFile = file.accessCheck?.(download.signal)
      return revalidateUntilEnd(deps.clock, () => revalidate().then(checkFile), download)
    })
  }
  if (endpoint.tagged) return sendTagged(request, response, checked(endpoint, result as Tagged, deps))
  // An answer that is written piece by piece, such as one of another server, ends with the access of its caller.
  if (typeof result === 'function' || (endpoint.auth.kind === 'admin' && isStream(endpoint)))
    void revalidateUntilEnd(deps.clock, revalidate, call)
  await answer({ endpoint, result, call }, response, deps)
}

/** User streams check their access themselves: thousands of timers would be too expensive. */
const isStream = ({ returns }: EndpointShape): boolean => !isSchema(returns) && returns.kind === 'sse'

function checked({ returns }: EndpointShape, tagged: Tagged, { validateAnswers = false }: EndpointDeps): Tagged {
  if (validateAnswers && isSchema(returns)) validateAnswer(returns, JSON.parse(tagged.text))
  return tagged
}

async function identify(auth: Auth, request: Request, authenticate: Authenticators): Promise<Actor | undefined> {
  if (auth.kind === 'none' || auth.kind === 'automation') return undefined
  if (auth.kind === 'agent') return authenticate.agent(request.get('authorization'))
  if (auth.kind === 'platform') return userOrAdmin(auth, request, authenticate)
  const byCookie = await authenticate.console?.(request.headers, auth)
  return byCookie ? permitted(auth, byCookie) : adminOf(auth, request, authenticate)
}

/** A token that is not one of a user may be one of an admin where the endpoint permits that. */
async function userOrAdmin({ orAdmin }: Extract<Auth, { kind: 'platform' }>, request: Request, authenticate: Authenticators) {
  try {
    return await userOf(request, authenticate)
  } catch (error) {
    if (!orAdmin || !isProblem(error, 'UNAUTHENTICATED')) throw error
    const auth = { kind: 'admin', role: orAdmin, person: true } as const
    // Without a cookie the host does not matter: apps of tenants call these endpoints under other names.
    const byCookie = request.headers.cookie === undefined ? undefined : await authenticate.console?.(request.headers, {})
    return byCookie ? permitted(auth, byCookie) : adminOf(auth, request, authenticate)
  }
}

async function adminOf(auth: Extract<Auth, { kind: 'admin' }>, request: Request, authenticate: Authenticators) {
  return permitted(auth, await authenticate.admin(request.get('authorization'), auth))
}

function permitted(auth: Extract<Auth, { kind: 'admin' }>, actor: AdminActor | TokenActor) {
  if (auth.person && actor.kind === 'token') throw problem('FORBIDDEN', 'API tokens cannot do this. Log in as a person.')
  if (!roleAtLeast(actor.role, auth.role))
    throw problem('FORBIDDEN', `This requires the role ${auth.role}; ${actor.name} has the role ${actor.role}.`)
  return actor
}

async function userOf(request: Request, { platform }: Authenticators): Promise<PlatformPrincipal> {
  if (!platform) throw problem('UNAUTHENTICATED', 'This daemon has no login for users of tenants.')
  return platform(request.get('authorization'))
}

/** Private responses must not be cached by proxies or browsers. */
const isPrivate = ({ auth, method }: EndpointShape): boolean => auth.kind !== 'none' || method !== 'GET'

type Answer = Readonly<{ endpoint: EndpointShape; result: unknown; call: IncomingCall }>

async function answer(
  { endpoint, result, call }: Answer,
  response: Response,
  { validateAnswers: validate = false, keepAlives }: AnswerDeps,
): Promise<void> {
  const { returns } = endpoint
  if (isSchema(returns)) {
    if (isPrivate(endpoint)) response.setHeader('cache-control', 'no-store')
    response.status(endpoint.status ?? 200).json(validate ? validateAnswer(returns, result) : result)
  } else if (returns.kind === 'empty') {
    response.status(endpoint.status ?? 204).end()
  } else if (returns.kind === 'raw') {
    await sendRaw(response, result as RawResponse)
  } else if (returns.kind === 'text') {
    response
      .status(endpoint.status ?? 200)
      .type(returns.contentType)
      // The address of a page may hold a token.
      .set('cache-control', 'no-store')
      .send(result as string)
  } else {
    await sendStream(response, result as never, { keepAlives, signal: call.signal })
  }
}
