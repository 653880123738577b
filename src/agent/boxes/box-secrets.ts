import { join } from 'node:path'
import { z } from 'zod'
import { asJson, problem, type Random, randomText } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import type { ProbeAccount, Project } from '../ports/index.ts'

const names = [
  'edgeSecret',
  'postgresPassword',
  'minioRootPassword',
  'macaroonSecret',
  'formSecret',
  'registrationSharedSecret',
  'appserviceToken',
  'homeserverToken',
] as const

/** Secrets of a box, generated once on its host. All files of the box can be rendered again from them. */
const BoxSecrets = z.object({
  boxId: z.string(),
  ...(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<(typeof names)[number], z.ZodString>),
  signingKeyId: z.string(),
  signingKeySeed: z.string(),
})
export type BoxSecrets = z.infer<typeof BoxSecrets>

const ProbeAccountFile = z.object({ userId: z.string(), accessToken: z.string(), roomId: z.string() })

// Outside the folders that containers mount.
const secretsFile = (project: Project): string => join(project.folder, 'secrets', 'box.json')
const probeFile = (project: Project): string => join(project.folder, 'secrets', 'probe.json')

export function newBoxSecrets(random: Random, boxId: string): BoxSecrets {
  const hex = (bytes: number) => Buffer.from(random.bytes(bytes)).toString('hex')
  return {
    boxId,
    ...(Object.fromEntries(names.map((name) => [name, hex(32)])) as Record<(typeof names)[number], string>),
    signingKeyId: `a_${randomText(random, 6)}`,
    // Unpadded, as Synapse writes it.
    signingKeySeed: Buffer.from(random.bytes(32)).toString('base64').replaceAll('=', ''),
  }
}

export const readBoxSecrets = (project: Project): Promise<BoxSecrets | undefined> => readSecretFile(secretsFile(project), BoxSecrets)
export const readProbeAccount = (project: Project): Promise<ProbeAccount | undefined> =>
  readSecretFile(probeFile(project), ProbeAccountFile)

export const secretsText = (secrets: BoxSecrets): string => `${JSON.stringify(secrets, null, 2)}\n`

/** Atomic, mode 0600. */
export const writeBoxSecrets = (project: Project, secrets: BoxSecrets): Promise<void> =>
  writeFileAtomic(secretsFile(project), secretsText(secrets))
export const writeProbeAccount = (project: Project, account: ProbeAccount): Promise<void> =>
  writeFileAtomic(probeFile(project), `${JSON.stringify(account, null, 2)}\n`)

/** Secrets and probe account from texts that were read already; undefined for a text that is not valid. */
export const parseBoxSecrets = (text: string | undefined): BoxSecrets | undefined => BoxSecrets.safeParse(asJson(text ?? '')).data
export const parseProbeAccount = (text: string | undefined): ProbeAccount | undefined => ProbeAccountFile.safeParse(asJson(text ?? '')).data

async function readSecretFile<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    // No cause: it would quote the file.
    throw problem('CONFIG_INVALID', `Cannot read ${path}: not valid. fix: restore it from a snapshot of the box`)
  }
}
