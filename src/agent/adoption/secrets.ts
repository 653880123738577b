import { join } from 'node:path'
import type { Random } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { type BoxSecrets, newBoxSecrets, readSecretsAt, recordOf, secretsText } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { Survey } from './survey.ts'

type Deps = Readonly<{ random: Random; stateFolder: string }>

export const pendingFile = (stateFolder: string, slug: string): string => join(stateFolder, 'adoption', `${slug}.json`)

/** Secrets for the box, generated for the first diff and stored, so that the confirmed diff and the applied one match. */
export async function pendingSecrets({ random, stateFolder }: Deps, { slug, boxId }: LocalBox): Promise<BoxSecrets> {
  const path = pendingFile(stateFolder, slug)
  const known = await readSecretsAt(path)
  if (known?.boxId === boxId) return known
  const made = newBoxSecrets(random, boxId)
  await writeFileAtomic(path, secretsText(made))
  return made
}

/** Id of the platform's application service in every box. */
export const platformService = 'tenantry'

const plain = /^[A-Za-z0-9_.+/=@-]{3,200}$/
/** True when the value needs no quoting in files and requests. */
export const isPlainSecret = (value: string): boolean => plain.test(value)

/** Existing secrets of the stack stay valid; missing ones are new. Empty: neither present nor needed. */
export async function boxSecretsFor(survey: Survey, pending: BoxSecrets): Promise<BoxSecrets> {
  const { chat, environment, box } = survey
  const registration = chat.registrations.find(({ plain }) => plain.id === platformService)?.plain ?? {}
  const [, signingKeyId = '', signingKeySeed = ''] = /^ed25519 (\S+) (\S+)/.exec(chat.signingKey) ?? []
  const kept = (value: unknown, otherwise: string) => (typeof value === 'string' && isPlainSecret(value) ? value : otherwise)
  const edge = /\$http_x_tenantry_edge_secret != "([A-Za-z0-9_-]{32,})"/.exec(
    (await readIfThere(join(box.project.folder, 'edge/conf.d/box.conf'))) ?? '',
  )
  return {
    boxId: box.boxId,
    edgeSecret: edge?.[1] ?? pending.edgeSecret,
    appserviceToken: kept(registration.as_token, pending.appserviceToken),
    homeserverToken: kept(registration.hs_token, pending.homeserverToken),
    registrationSharedSecret: said(chat.plain.registration_shared_secret) || pending.registrationSharedSecret,
    postgresPassword: said(recordOf(recordOf(chat.plain.database).args).password),
    minioRootPassword: environment.minio?.MINIO_ROOT_PASSWORD || 'minioadmin',
    macaroonSecret: said(chat.plain.macaroon_secret_key),
    formSecret: said(chat.plain.form_secret),
    signingKeyId,
    signingKeySeed,
  }
}

const said = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** Keys whose values are secret. */
const named =
  /((?:password|passphrase|secret|token|macaroon|secret_key|private_key|seed)[\w.-]*["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,}"'#][^\s,}]*)/gi
/** Passwords in URLs: `postgres://user:password@host`. */
const inAddress = /(:\/\/[^\s:@/"']+:)[^\s@/"']+(?=@)/g

const shortest = 6

/** Removes known secrets and values of secret keys from a text. It may also hide harmless values such as paths. */
export function redact(text: string, known: readonly string[]): string {
  const whole = [...new Set(known)].filter((value) => value.length >= shortest).sort((a, b) => b.length - a.length)
  return whole
    .reduce((now, value) => now.replaceAll(value, '[secret]'), text)
    .replace(named, '$1[secret]')
    .replace(inAddress, '$1[secret]')
}
