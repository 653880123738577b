import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import helmet, { type HelmetOptions } from 'helmet'
import { type Random, randomText } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { noAnswerOf } from '../db/index.ts'
import type { HttpMetrics } from './metrics.ts'
import { type MountDeps, mount } from './mount.ts'
import { asProblem } from './problems.ts'
import type { Served } from './serve.ts'
import { setTrust } from './trust.ts'

export type AppDeps = MountDeps &
  Readonly<{ random: Random; log: Logger; metrics: HttpMetrics; trustedProxies: readonly string[]; outermost?: (app: Express) => void }>

/** Answers are data or our own pages. Headers that only old browsers read, or that the policy says already, are left out. */
const headers: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'style-src': ["'self'"], 'frame-ancestors': ["'none'"] },
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

/** The daemon's HTTP side: every answer has a request id, every failure the one error shape. */
export function buildApp(served: readonly Served[], deps: AppDeps): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple')
  setTrust(app, deps.trustedProxies)
  app.use(helmet(headers))
  app.use(identifyRequest(deps))
  deps.outermost?.(app)
  deps.limits?.addresses(app)
  mount(app, served, deps)
  app.use(answerProblem(deps))
  return app
}

function identifyRequest({ random, clock, log, metrics }: AppDeps) {
  const replica = randomText(random, 8)
  let count = 0
  return (request: Request, response: Response, next: NextFunction) => {
    const given = request.headers['x-request-id']
    count += 1
    const requestId = typeof given === 'string' && requestIdForm.test(given) ? given : `${replica}-${count.toString(36)}`
    response.locals.requestId = requestId
    response.setHeader('x-request-id', requestId)
    const start = clock.monotonicMs()
    response.on('finish', () => {
      const ms = clock.monotonicMs() - start
      metrics.observe(request.method, (request.route?.path as string | undefined) ?? 'unknown', response.statusCode, ms)
      tell(log, request, response, ms)
    })
    next()
  }
}

/** Reads, and what agents say, are the bulk of the traffic and tell nothing by themselves; what agents change stands in the audit log. */
function tell(log: Logger, request: Request, response: Response, ms: number): void {
  const { statusCode } = response
  const isQuiet = request.method === 'GET' ? statusCode < 500 : response.locals.actor?.kind === 'agent' && statusCode < 400
  const level = isQuiet ? 'debug' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { requestId, actor } = response.locals
  const { method, path } = request
  log[level]({ requestId, method, path, status: response.statusCode, ms: Math.round(ms), actor: actor?.name ?? actor?.userId }, 'request')
}

function answerProblem({ log }: AppDeps) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const found = asProblem(error)
    const about = { requestId: response.locals.requestId, path: request.path, err: error }
    if (found.code === 'INTERNAL') log.error(about, 'a handler failed')
    // That it is away at all tell those who read it all the time.
    else if (noAnswerOf(error) === 'slow') log.warn(about, 'the database took too long for this')
    if (response.headersSent) return void response.destroy()
    if (found.retryAfterSeconds !== undefined) response.set('retry-after', String(found.retryAfterSeconds))
    else if (found.status === 503) response.set('retry-after', '5')
    response.set('cache-control', 'no-store')
    if (found.status === 401) response.set('www-authenticate', 'Bearer')
    response.status(found.status).json(found.toBody())
  }
}
