import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { decodeText, decodeTextAs } from '../../node/index.ts'
import { importUsers } from '../users/index.ts'
import { delegatedRules } from './delegated-rules.ts'
import type { PeopleDeps } from './deps.ts'
import { inviterOf } from './invite.ts'

type ImportInput = Omit<Parameters<typeof importUsers>[2], 'slug' | 'csv'> &
  Readonly<{ csv?: string | undefined; file?: string | undefined; encoding?: string | undefined; invite: boolean; signal?: AbortSignal }>

/** The import of operators in the caller's tenant, under its rules. A file may be sent as it is: its encoding is recognised. */
export async function importPeople(deps: PeopleDeps, actor: PlatformPrincipal, { file, encoding, invite, signal, ...input }: ImportInput) {
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
