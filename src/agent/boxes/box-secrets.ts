import { join } from 'node:path'
import { z } from 'zod'
import { problem, type Random, randomText } from '../../core/kit/index.ts'
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

/** What a box was made with. Made once, on its host; all of its files can be rendered again from it. */
const BoxSecrets = z.object({
  boxId: z.string(),
  ...(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<(typeof names)[number], z.ZodString>),
  signingKeyId: z.string(),
  signingKeySeed: z.string(),
})
export type BoxSecrets = z.infer<typeof BoxSecrets>

const ProbeAccountFile = z.object({ userId: z.string(), accessToken: z.string(), roomId: z.string() })

// Beside the folders that containers mount, never in one of them.
export const secretsFile = (project: Project): string => join(project.folder, 'secrets', 'box.json')
export const probeFile = (project: Project): string => join(project.folder, 'secrets', 'probe.json')

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
/** Such secrets in a file elsewhere: those of a box that is not made yet. */
export const readSecretsAt = (path: string): Promise<BoxSecrets | undefined> => readSecretFile(path, BoxSecrets)
export const readProbeAccount = (project: Project): Promise<ProbeAccount | undefined> =>
  readSecretFile(probeFile(project), ProbeAccountFile)

export const secretsText = (secrets: BoxSecrets): string => `${JSON.stringify(secrets, null, 2)}\n`

/** 0600, whole or not at all. */
export const writeBoxSecrets = (project: Project, secrets: BoxSecrets): Promise<void> =>
  writeFileAtomic(secretsFile(project), secretsText(secrets))
export const writeProbeAccount = (project: Project, account: ProbeAccount): Promise<void> =>
  writeFileAtomic(probeFile(project), `${JSON.stringify(account, null, 2)}\n`)

async function readSecretFile<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    // The cause is left out on purpose: it would quote the file.
    throw problem('CONFIG_INVALID', `the file ${path} cannot be read; restore it from a snapshot of the box`)
  }
}
