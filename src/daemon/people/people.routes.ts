import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { passwordContract, peopleContract } from '../../core/people/index.ts'
import { decodeText, decodeTextAs } from '../../node/index.ts'
import type { Revocations } from '../auth/index.ts'
import { serveContract } from '../http/index.ts'
import { importUsers } from '../users/index.ts'
import {
  changePerson,
  createPerson,
  disablePerson,
  enablePerson,
  endPersonSessions,
  erasePerson,
  exportOnePerson,
  resetPersonPassword,
  unlockPerson,
} from './administer.ts'
import { delegatedRules } from './delegated-rules.ts'
import type { PeopleDeps } from './deps.ts'
import { forgotPassword, resetByLink } from './forgot-password.ts'
import { invitePerson, inviterOf } from './invite.ts'
import { sendPasswordPage, showPasswordPage } from './password-page.ts'
import { listPeople, showPerson } from './show-people.ts'

export const peopleRoutes = (deps: PeopleDeps & Readonly<{ revocations: Revocations }>) => [
  ...serveContract(peopleContract, {
    listPeople: ({ actor, query }) => listPeople(deps, actor, query),
    createPerson: ({ actor, body }) => createPerson(deps, actor, body),
    importPeople: ({ actor, body, signal }) => importPeople(deps, actor, { ...body, signal }),
    showPerson: ({ actor, params }) => showPerson(deps, actor, params),
    changePerson: ({ actor, params, body }) => changePerson(deps, actor, { ...params, ...body }),
    disablePerson: ({ actor, params, body }) => disablePerson(deps, actor, { ...params, ...body }),
    enablePerson: ({ actor, params }) => enablePerson(deps, actor, params),
    unlockPerson: ({ actor, params }) => unlockPerson(deps, actor, params),
    endPersonSessions: ({ actor, params }) => endPersonSessions(deps, actor, params),
    resetPersonPassword: ({ actor, params, body }) => resetPersonPassword(deps, actor, { ...params, ...body }),
    invitePerson: ({ actor, params }) => invitePerson(deps, actor, params),
    erasePerson: ({ actor, params }) => erasePerson(deps, actor, params),
    exportPerson: ({ actor, params, body }) => exportOnePerson(deps, actor, { ...params, ...body }),
  }),
  ...serveContract(passwordContract, {
    forgotPassword: ({ body, address }) => forgotPassword(deps, { ...body, address }),
    resetForgottenPassword: ({ body }) => resetByLink(deps, body),
    showPasswordPage: ({ query }) => showPasswordPage(deps, query),
    sendPasswordPage: ({ query, raw }) => sendPasswordPage(deps, { ...query, raw }),
  }),
]

type ImportInput = Omit<Parameters<typeof importUsers>[2], 'slug' | 'csv'> &
  Readonly<{ csv?: string | undefined; file?: string | undefined; encoding?: string | undefined; invite: boolean; signal?: AbortSignal }>

/** The import of operators in the caller's tenant, under its rules. A file may be sent as it is: its encoding is recognised. */
async function importPeople(deps: PeopleDeps, actor: PlatformPrincipal, { file, encoding, invite, signal, ...input }: ImportInput) {
  const decoded = file === undefined ? { text: input.csv ?? '', encoding: null } : await decodeFile(Buffer.from(file, 'base64'), encoding)
  const delegated = delegatedRules(deps.roles, actor, invite ? inviterOf(deps) : undefined)
  const report = await importUsers({ ...deps, delegated, signal }, actor, { ...input, slug: actor.tenantSlug, csv: decoded.text })
  return { ...report, encoding: decoded.encoding }
}

async function decodeFile(bytes: Uint8Array, encoding: string | undefined) {
  const decoded = encoding === undefined ? await decodeText(bytes) : await decodeTextAs(bytes, encoding)
  if (decoded === 'unknown') throw invalid('encoding', `there is no encoding ${encoding}`)
  if (!decoded) throw invalid('file', 'the encoding is not recognised. fix: save it as "CSV UTF-8", or name its encoding')
  return decoded
}

const invalid = (path: string, reason: string) => problem('VALIDATION', `${path}: ${reason}`, { details: [{ path, reason }] })
