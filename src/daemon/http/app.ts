import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import helmet, { type HelmetOptions } from 'helmet'
import { catalogue, escapeHtml, maxChunks, type Problem, problem, type Random, randomText, splitFix } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { noAnswerOf } from '../db/index.ts'
import type { EndpointDeps } from './answer-call.ts'
import { endBody, hasBody, limitBodyTime } from './body-time.ts'
import { sendRetry } from './event-stream.ts'
import { htmlPage } from './html-page.ts'
import type { Caller } from './incoming-call.ts'
import type { HttpMetrics } from './metrics.ts'
import { asProblem, shownTo } from './problems.ts'
import { recogniseStreams, registerEndpoints } from './register-endpoints.ts'
import type { Served } from './serve.ts'

type AppDeps = EndpointDeps &
  Readonly<{
    random: Random
    log: Logger
    metrics: HttpMetrics
    trustedProxies: readonly string[]
    outermost?: (app: Express) => void
    /** Pages beside the endpoints. */
    pages?: (app: Express) => void
    /** Time for a body without a file; default 30 s. */
    maxBodyMs?: number
  }>

/** Security headers for JSON and the docs page. Headers for old browsers or implied by the policy are omitted. */
const headers: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      ...{ 'default-src': ["'none'"], 'style-src': ["'self'"], 'frame-ancestors': ["'none'"] },
      // Neither falls back to the default.
      ...{ 'form-action': ["'self'"], 'base-uri': ["'none'"] },
    },
  },
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
}

const requestIdForm = /^[A-Za-z0-9-]{1,64}$/

/** Builds the daemon's HTTP server. Every response has a request id; every failure is a problem in the error shape. */
export function buildApp(served: readonly Served[], deps: AppDeps): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple')
  setTrust(app, deps.trustedProxies)
  app.use(helmet(headers))
  app.use(identifyRequest(deps))
  app.use(limitBodyTime(deps.maxBodyMs), limitBodyChunks)
  deps.outermost?.(app)
  recogniseStreams(app, served, deps)
  deps.limits?.addresses(app)
  deps.pages?.(app)
  registerEndpoints(app, served, deps)
  app.use(answerProblem(deps))
  return app
}

function identifyRequest({ random, clock, log, metrics }: AppDeps) {
  const replica = randomText(random, 8)
  let count = 0
  return (request: Request, response: Response, next: NextFunction) => {
    const input = request.headers['x-request-id']
    count += 1
    const requestId = typeof input === 'string' && requestIdForm.test(input) ? input : `${replica}-${count.toString(36)}`
    response.locals.requestId = requestId
    response.setHeader('x-request-id', requestId)
    const start = clock.monotonicMs()
    response.on('finish', () => {
      const ms = clock.monotonicMs() - start
      const route = (request.route?.path as string | undefined) ?? 'unknown'
      metrics.observe({ method: request.method, route, status: statusOf(response), ms })
      logRequest(log, { request, response, ms })
    })
    next()
  }
}

/** Successful reads and agent reports are logged at debug level: they are most of the traffic. */
function logRequest(log: Logger, { request, response, ms }: Readonly<{ request: Request; response: Response; ms: number }>): void {
  const status = statusOf(response)
  const isQuiet = request.method === 'GET' ? status < 500 : response.locals.actor?.kind === 'agent' && status < 400
  const level = isQuiet ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { requestId, actor } = response.locals
  const { method, path } = request
  const about = { requestId, address: request.ip, method, path, status, ms: Math.round(ms) }
  log[level]({ ...about, actor: actor?.name ?? actor?.userId }, 'request')
}

/** One line for each failed login and refused call, with the route instead of the path and never a credential. */
function logRefusal(log: Logger, { request, response, found }: Readonly<{ request: Request; response: Response; found: Problem }>): void {
  const isRefusal = found.status === 401 || found.status === 403 || found.code === 'ACCOUNT_LOCKED'
  if (!isRefusal || found.code === 'TOTP_REQUIRED') return
  const { requestId, actor, caller } = response.locals
  const known: Caller = caller ?? { tenant: actor?.tenantSlug, user: actor?.userId ?? actor?.accountId }
  const route = request.route?.path ?? 'unknown'
  const { ip: address, method } = request
  log.info({ requestId, address, method, route, status: found.status, code: found.code, ...known }, 'access refused')
}

/** The status of the problem, if the client got another one. */
const statusOf = ({ locals, statusCode }: Response): number => (locals.problemStatus as number | undefined) ?? statusCode

function answerProblem({ log, limits, random }: AppDeps) {
  // biome-ignore lint/complexity/useMaxParams: Express recognizes a handler of errors by its four parameters.
  return async (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const found = shownTo(response.locals.actor, asProblem(error))
    const about = { requestId: response.locals.requestId, path: request.path, err: error }
    if (found.code === 'INTERNAL' || found.code === 'SEALED_UNREADABLE') log.error(about, 'request failed')
    // An unreachable database is logged by the loops that poll it.
    else if (noAnswerOf(error) === 'slow') log.warn(about, 'database timeout')
    logRefusal(log, { request, response, found })
    if (response.headersSent) return void response.destroy()
    if (response.locals.actor === undefined && limits && !(await limits.paceRefusal(request, response))) return void response.destroy()
    if (found.retryAfterSeconds !== undefined) response.set('retry-after', String(found.retryAfterSeconds))
    else if (found.status === 503) response.set('retry-after', '5')
    response.set('cache-control', 'no-store')
    if (mayReturn(request, response, found)) {
      response.locals.problemStatus = found.status
      return sendRetry(response, { retryMs: retryMsOf(random, found), why: found.code })
    }
    if (found.status === 401) response.set('www-authenticate', 'Bearer')
    response.status(found.status)
    if (wantsPage(request)) response.type('html').send(problemPage(found))
    else response.json(found.toBody())
  }
}

/** An EventSource would take any refusal as final, also one that is about the moment or is a fault of the daemon. */
const mayReturn = (request: Request, response: Response, { status }: Problem): boolean =>
  response.locals.isStream === true && (status === 429 || status >= 500) && request.get('accept')?.includes('text/event-stream') === true

/** Spread over four seconds. */
const retryMsOf = (random: Random, { retryAfterSeconds = 5 }: Problem): number =>
  1000 * retryAfterSeconds + 16 * (random.bytes(1)[0] as number)

/** Returns a test for trusted proxy addresses. Throws a TypeError for an invalid address, network or name. */
export function trustOf(trustedProxies: readonly string[]): (address: string) => boolean {
  const app = express()
  setTrust(app, trustedProxies)
  const trusts = app.get('trust proxy fn') as (address: string, hop: number) => boolean
  return (address) => trusts(address, 0)
}

const setTrust = (app: express.Express, trustedProxies: readonly string[]): void => {
  app.set('trust proxy', trustedProxies.length > 0 ? [...trustedProxies] : false)
}

/** People open links of mails below this path in browsers. */
const publicPath = '/api/public/'

/** True for a browser that opened a public link; a program gets the problem as JSON. */
const wantsPage = (request: Request): boolean => request.path.startsWith(publicPath) && request.accepts(['json', 'html']) === 'html'

/** A problem for a person. */
function problemPage({ code, message }: Problem): string {
  const { what, fix } = splitFix(message)
  const next = fix === undefined ? '' : `\n<p>Next: ${escapeHtml(fix)}</p>`
  // A link needs no account, only the token in it.
  const title = code === 'FORBIDDEN' ? 'This link does not work' : catalogue[code].title
  return htmlPage(`<h1>${escapeHtml(title)}</h1>\n<p>${escapeHtml(what)}</p>${next}`)
}

/**
 * Ends a body in chunks so small that they take more memory and time than their bytes. It counts what the parser hands over, so it holds for
 * every reader.
 */
const limitBodyChunks: RequestHandler = (request, response, next) => {
  if (hasBody(request)) {
    const push = request.push.bind(request)
    let [bytes, chunks, isOver] = [0, 0, false]
    request.push = (chunk: Buffer | null, encoding) => {
      bytes += chunk?.length ?? 0
      if (chunk === null || (!isOver && ++chunks <= maxChunks(bytes))) return push(chunk, encoding)
      if (!isOver) endBody(request, response, problem('VALIDATION', 'The body comes in too many small chunks.'))
      isOver = true
      return false
    }
  }
  next()
}
