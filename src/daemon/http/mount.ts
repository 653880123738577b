import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { type Auth, type EndpointShape, isSchema, roleAtLeast } from '../../core/contract/index.ts'
import {
  type Actor,
  type AdminActor,
  type AgentActor,
  type Clock,
  type PlatformPrincipal,
  problem,
  type TokenActor,
} from '../../core/kit/index.ts'
import { addressLimit } from './address-limit.ts'
import type { CallLimits } from './call-limits.ts'
import { IncomingCall } from './incoming-call.ts'
import { type KeepAlive, makeKeepAlive } from './keep-alive.ts'
import { revalidateIdentity, revalidateUntilEnd } from './revalidate.ts'
import { type FileBody, sendFile } from './send-file.ts'
import type { Served } from './serve.ts'

import { sendStream } from './stream.ts'
import { sendTagged, type Tagged } from './tagged.ts'
import { validateAnswer } from './validate-answer.ts'

/** Turns the credentials of a request into an actor, or throws UNAUTHENTICATED. */
export type Authenticators = Readonly<{
  /** Refuses a session that is not set up in full unless `setup` lets it in. */
  admin(authorization: string | undefined, options?: { setup?: boolean }): Promise<AdminActor | TokenActor>
  agent(authorization: string | undefined): Promise<AgentActor>
  /** Throws INVALID_MATRIX_TOKEN for a chat token. */
  platform?(authorization: string | undefined): Promise<PlatformPrincipal>
}>

export type MountDeps = Readonly<{
  authenticate: Authenticators
  clock: Clock
  /** Aborts when the daemon drains: long polls and streams end, so that their clients go to another replica. */
  draining: AbortSignal
  limits?: CallLimits
  /** Tests check every answer against its contract. */
  validateAnswers?: boolean
}>

type AnswerDeps = MountDeps & Readonly<{ heart: KeepAlive }>

const defaultBodyLimit = 256 * 1024

/**
 * Mounts the endpoints. Each checks identity, role and budget before a byte of the body is read, then content type and input, then runs the handler.
 * A literal segment goes before a parameter in its place, whatever the method: `GET /boxes/scan` is a wrong method, not a box called `scan`.
 */
export function mount(app: Express, served: readonly Served[], deps: MountDeps): void {
  const heart = makeKeepAlive(deps.clock)
  for (const sharing of byPath(served)) {
    for (const one of sharing) mountEndpoint(app, one, { ...deps, heart })
    const methods = sharing.map(({ endpoint }) => endpoint.method)
    app.all((sharing[0] as Served).endpoint.path, refuseMethod(methods))
  }
  app.use(({ path }) => {
    throw problem('NOT_FOUND', `${path} does not exist: /docs lists what does`)
  })
}

/** The endpoints of each path, literal segments first; parameters of other names are the same path. */
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

const refuseMethod =
  (methods: readonly string[]): RequestHandler =>
  ({ path, method }, response) => {
    response.set('allow', methods.join(', '))
    throw problem('METHOD_NOT_ALLOWED', `${path} takes ${methods.join(', ')}, not ${method}`)
  }

function mountEndpoint(app: Express, one: Served, deps: AnswerDeps): void {
  const { endpoint } = one
  app[endpoint.method.toLowerCase() as 'get'](
    endpoint.path,
    authenticateCall(endpoint, deps),
    ...rateLimit(endpoint, deps),
    ...checkCapability(endpoint),
    ...readBody(endpoint),
    ...revalidateIdentity(endpoint, {
      clock: deps.clock,
      identify: (request) => identify(endpoint.auth, request, deps.authenticate),
      assertCapability: (response) => refuseUnable(endpoint.auth, response),
    }),
    answerCall(one, deps),
  )
}

const readBody = (endpoint: EndpointShape): RequestHandler[] =>
  endpoint.body ? [requireJson, express.json({ limit: endpoint.bodyLimit ?? defaultBodyLimit, strict: false, type: () => true })] : []

function requireJson(request: Request, _: Response, next: NextFunction): void {
  const hasBody =
    request.headers['content-length'] !== undefined
      ? request.headers['content-length'] !== '0'
      : request.headers['transfer-encoding'] !== undefined
  if (hasBody && !request.is(['application/json', '+json'])) throw problem('UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json')
  next()
}

function authenticateCall({ auth, perAddress }: EndpointShape, { authenticate, clock }: MountDeps): RequestHandler {
  const limit = perAddress === undefined ? undefined : addressLimit(clock, perAddress)
  return async (request, response, next) => {
    limit?.(request.ip ?? 'unknown')
    const actor = await identify(auth, request, authenticate)
    if (actor) response.locals.actor = actor
    response.locals.identifiedAtMs = clock.monotonicMs()
    next()
  }
}

/** Calls of tenants' users count against the budget of their tenant. */
function rateLimit({ auth }: EndpointShape, { limits }: MountDeps): RequestHandler[] {
  if (!limits || auth.kind !== 'platform') return []
  return [
    async (_, response, next) => {
      if (await limits.pass(response, (response.locals.actor as PlatformPrincipal).tenantId)) next()
    },
  ]
}

/** After the budget: a call that is refused for want of a capability counts, and says what is left (spec 8). */
function checkCapability({ auth }: EndpointShape): RequestHandler[] {
  if (auth.kind !== 'platform' || !auth.capability) return []
  return [
    (_, response, next) => {
      refuseUnable(auth, response)
      next()
    },
  ]
}

function refuseUnable(auth: Auth, response: Response): void {
  if (auth.kind !== 'platform' || !auth.capability) return
  if (!(response.locals.actor as PlatformPrincipal).capabilities.includes(auth.capability))
    throw problem('FORBIDDEN', `this needs the capability ${auth.capability}: no role of yours grants it`)
}

function answerCall({ endpoint, handler }: Served, deps: AnswerDeps): RequestHandler {
  return async (request, response) => {
    const actor: Actor | undefined = response.locals.actor
    const stands = () => identify(endpoint.auth, request, deps.authenticate)
    const call = new IncomingCall({ endpoint, request, response, actor, draining: deps.draining, stands })
    const result = await handler(call as never)
    if (call.ofTenant !== undefined) await deps.limits?.show(response, call.ofTenant)
    if (!isSchema(endpoint.returns) && endpoint.returns.kind === 'file') {
      const file = result as FileBody
      return sendFile(request, response, file, (download) => {
        const ofFile = file.stands?.(download.signal)
        return revalidateUntilEnd(deps.clock, () => stands().then(ofFile), download)
      })
    }
    if (endpoint.tagged) return sendTagged(request, response, checked(endpoint, result as Tagged, deps))
    if (endpoint.auth.kind === 'admin' && isStream(endpoint)) void revalidateUntilEnd(deps.clock, stands, call)
    await answer(endpoint, result, response, call, deps)
  }
}

/** Streams of tenants' users look after themselves: thousands of them would ask too often. */
const isStream = ({ returns }: EndpointShape): boolean => !isSchema(returns) && returns.kind === 'sse'

/** Tests look into what was made ready elsewhere too. */
function checked({ returns }: EndpointShape, tagged: Tagged, { validateAnswers = false }: MountDeps): Tagged {
  if (validateAnswers && isSchema(returns)) validateAnswer(returns, JSON.parse(tagged.text))
  return tagged
}

async function identify(auth: Auth, request: Request, authenticate: Authenticators): Promise<Actor | undefined> {
  if (auth.kind === 'none') return undefined
  if (auth.kind === 'agent') return authenticate.agent(request.get('authorization'))
  if (auth.kind === 'platform') return userOf(request, authenticate)
  const actor = await authenticate.admin(request.get('authorization'), auth)
  if (auth.person && actor.kind === 'token') throw problem('FORBIDDEN', 'API tokens may not do this: log in as a person')
  if (!roleAtLeast(actor.role, auth.role)) throw problem('FORBIDDEN', `this needs the role ${auth.role}; ${actor.name} is ${actor.role}`)
  return actor
}

async function userOf(request: Request, { platform }: Authenticators): Promise<PlatformPrincipal> {
  if (!platform) throw problem('UNAUTHENTICATED', 'nobody can log in here as a user of a tenant')
  return platform(request.get('authorization'))
}

/** Tokens, and what only some may read: nothing on the way, and no browser after a log-out, keeps it. */
const isOnesOwn = ({ auth, method }: EndpointShape): boolean => auth.kind !== 'none' || method !== 'GET'

async function answer(
  endpoint: EndpointShape,
  result: unknown,
  response: Response,
  call: IncomingCall,
  { validateAnswers: validate = false, heart }: AnswerDeps,
): Promise<void> {
  const { returns } = endpoint
  if (isSchema(returns)) {
    if (isOnesOwn(endpoint)) response.setHeader('cache-control', 'no-store')
    response.status(endpoint.status ?? 200).json(validate ? validateAnswer(returns, result) : result)
  } else if (returns.kind === 'empty') {
    response.status(endpoint.status ?? 204).end()
  } else if (returns.kind === 'text') {
    response
      .status(endpoint.status ?? 200)
      .type(returns.contentType)
      .send(result as string)
  } else {
    await sendStream(response, result as never, { heart, signal: call.signal })
  }
}
