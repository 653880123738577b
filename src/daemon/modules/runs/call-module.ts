import { isProblem, isTooDeep, maxJsonLevels, problem, utf8Text } from '../../../core/kit/index.ts'
import { ModuleResponse, routeResponse } from '../../../core/modules/index.ts'
import type { RawRequest, RawResponse } from '../../http/index.ts'
import type { InstallationRecord } from '../installations.repo.ts'
import { runnableInstallation } from '../runnable.ts'
import { insertRun } from '../runs.repo.ts'
import type { ModuleCall, ModuleRunsDeps } from './deps.ts'
import { type Ran, type RunDeps, runOnce } from './run-module.ts'

const maxBodyBytes = 262_144

/** Headers of the request that a module sees: nothing about the session. */
const passedHeaders = /^(?:accept|accept-language|content-type|if-match|if-none-match|x-module-[a-z0-9-]{1,40})$/

type Deps = RunDeps & Pick<ModuleRunsDeps, 'callService'>

/**
 * Answers a call below the `apiPrefix` of a module. Throws NOT_FOUND unless the module is active in the caller's tenant and has routes, CONFLICT if
 * its data changed twice meanwhile, MODULE_FAILED, MODULE_LIMIT, UNAVAILABLE if its stored package cannot be verified.
 */
export async function callModule(deps: Deps, call: ModuleCall): Promise<RawResponse> {
  const { moduleId, actor, raw } = call
  const installation = await current(deps, call)
  const { manifest } = await codeOf(deps, installation)
  if (!manifest.routes) throw notActive(moduleId)
  if (manifest.type === 'B') return whileRunnable(deps, installation, call)
  const request = { ...(await requestOf(raw)), user: { userId: actor.userId, roles: [...actor.roles] } }
  const first = await runFor(deps, call, { installation, request })
  const ran = first.outcome === 'done' || 'failed limit'.includes(first.outcome) ? first : await again(deps, call, request)
  return answerOf(deps, moduleId, ran)
}

/** A request to a service ends when the module is withdrawn or changed, as a run does. */
async function whileRunnable(deps: Deps, installation: InstallationRecord, call: ModuleCall): Promise<RawResponse> {
  const stale = new AbortController()
  const end = deps.watch(installation, stale)
  call.signal.addEventListener('abort', end, { once: true })
  if (call.signal.aborted) end()
  return deps.callService({ ...call, signal: AbortSignal.any([call.signal, stale.signal]) })
}

/** Users learn only that the module cannot run; operators find the cause in the log. */
const codeOf = ({ loadCode, log }: Deps, installation: InstallationRecord) =>
  loadCode(installation).catch((err) => {
    if (!isProblem(err, 'PACKAGE_UNVERIFIED')) throw err
    const { tenantId, moduleId } = installation
    log.error({ err, tenantId, moduleId }, 'the package of a module failed verification, so it does not run')
    throw problem('UNAVAILABLE', `The module ${moduleId} cannot run now. An operator finds the cause in the log of the platform.`)
  })

const again = async (deps: Deps, call: ModuleCall, request: Request) =>
  runFor(deps, call, { installation: await current(deps, call), request })

type Request = Awaited<ReturnType<typeof requestOf>> & Readonly<{ user: Readonly<{ userId: string; roles: readonly string[] }> }>

async function current({ db, clock }: Deps, { actor: { tenantId }, moduleId }: ModuleCall): Promise<InstallationRecord> {
  const found = await runnableInstallation(db, clock, { tenantId, moduleId })
  if (!found) throw notActive(moduleId)
  return found
}

const notActive = (moduleId: string) => problem('NOT_FOUND', `There is no active module ${moduleId} with this path.`)

async function runFor(
  deps: Deps,
  { actor, signal, raw }: ModuleCall,
  { installation, request }: Readonly<{ installation: InstallationRecord; request: Request }>,
): Promise<Ran> {
  const about = {
    kind: 'route',
    eventType: null,
    cause: `${raw.method} ${request.path}`.slice(0, 200),
    depth: 0,
    deliveryId: null,
  } as const
  const code = await codeOf(deps, installation)
  const ran = await runOnce(
    deps,
    { installation, code, job: { type: 'request', request }, caller: actor, about: { ...about, attempt: 1 } },
    signal,
  )
  return ran
}

async function answerOf(deps: Deps, moduleId: string, ran: Ran): Promise<RawResponse> {
  const fix = `fix: an administrator finds the cause in GET …/modules/installed/${moduleId}/runs`
  if (ran.outcome === 'done') {
    const response = ModuleResponse.safeParse(ran.value ?? { status: 204 })
    if (response.success) return routeResponse(response.data, ran.body)
    const [issue] = response.error.issues
    throw problem('MODULE_FAILED', `The module ${moduleId} returned no valid response (${issue?.path.join('.')} ${issue?.message}). ${fix}`)
  }
  await insertRun(deps.db, ran.run)
  if (ran.outcome === 'failed') throw problem('MODULE_FAILED', `The module ${moduleId} failed. ${fix}`)
  if (ran.outcome === 'limit') throw problem('MODULE_LIMIT', `The module ${moduleId} was ended: ${ran.run.error}. ${fix}`)
  throw problem('CONFLICT', `The data of ${moduleId} changed twice while it answered; nothing was stored. fix: repeat the request`)
}

/** The part of a request that a module sees. Throws PAYLOAD_TOO_LARGE, BAD_JSON, UNSUPPORTED_MEDIA_TYPE. */
async function requestOf(raw: RawRequest) {
  const headers = Object.entries(raw.headers).filter(
    (one): one is [string, string] => typeof one[1] === 'string' && passedHeaders.test(one[0]),
  )
  return {
    ...{ method: raw.method, path: raw.rest === '' ? '/' : raw.rest },
    query: Object.fromEntries(new URLSearchParams(raw.search)),
    headers: Object.fromEntries(headers),
    body: bodyOf(await raw.readBody(maxBodyBytes), raw.headers['content-type']),
  }
}

function bodyOf(bytes: Buffer, type = 'application/json'): unknown {
  if (bytes.length === 0) return null
  const isJson = /^application\/(?:[a-z0-9.+-]+\+)?json\b/i.test(type)
  if (!isJson && !/^text\//i.test(type)) throw problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json or as text.')
  const text = utf8Text(bytes)
  if (text === undefined) throw problem('BAD_JSON', 'The body is not UTF-8. fix: encode it as UTF-8')
  if (!isJson) return text
  const value = parsed(text)
  if (isTooDeep(value)) throw problem('BAD_JSON', `The body is nested deeper than ${maxJsonLevels} levels.`)
  return value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw problem('BAD_JSON', `The body is not JSON: ${(cause as Error).message}`, { cause })
  }
}
