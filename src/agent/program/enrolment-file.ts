import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { type AgentIdentity, type AgentPrivateKey, type KeyStore, newAgentKey } from '../channel/index.ts'

const PrivateKey = z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string(), d: z.string() })
const Identity = z.strictObject({ hostId: z.string(), name: z.string(), keyId: z.string(), daemonUrl: z.url(), privateKey: PrivateKey })

const identityFile = (stateDir: string) => join(stateDir, 'identity.json')
const pendingFile = (stateDir: string) => join(stateDir, 'pending-key.json')
const nextFile = (stateDir: string) => join(stateDir, 'next-key.json')
const askedFile = (stateDir: string) => join(stateDir, 'rotate-key')

/** Who this agent is; undefined before its enrolment. Throws CONFIG_INVALID when others can read the key or the file is damaged. */
export async function readIdentity(stateDir: string): Promise<AgentIdentity | undefined> {
  return readPrivate(identityFile(stateDir), Identity)
}

export async function writeIdentity(stateDir: string, identity: AgentIdentity): Promise<void> {
  await writeFileAtomic(identityFile(stateDir), `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600 })
  await rm(pendingFile(stateDir), { force: true })
}

/** The key to enrol: written down first, so that an enrolment whose answer was lost can be asked for again with the same one. */
export async function pendingKey(stateDir: string): Promise<AgentPrivateKey> {
  const found = await readPrivate(pendingFile(stateDir), PrivateKey)
  if (found) return found
  const made = await newAgentKey()
  await writeFileAtomic(pendingFile(stateDir), `${JSON.stringify(made)}\n`, { mode: 0o600 })
  return made
}

/** The keys of an enrolled agent: what is to come is on disk before anybody hears of it, what was is gone once the new one counts. */
export const keyStore = (stateDir: string): KeyStore => ({
  pending: () => readPrivate(nextFile(stateDir), PrivateKey),
  prepare: async () => {
    const made = await newAgentKey()
    await writeFileAtomic(nextFile(stateDir), `${JSON.stringify(made)}\n`, { mode: 0o600 })
    return made
  },
  adopt: async (identity) => {
    await writeIdentity(stateDir, identity)
    await rm(nextFile(stateDir), { force: true })
    await rm(askedFile(stateDir), { force: true })
  },
})

/** A person wants the running agent to replace its key. */
export const askForRotation = (stateDir: string): Promise<void> => writeFileAtomic(askedFile(stateDir), '', { mode: 0o600 })

export const isRotationAsked = async (stateDir: string): Promise<boolean> => (await readIfThere(askedFile(stateDir))) !== undefined

async function readPrivate<Schema extends z.ZodType>(file: string, schema: Schema): Promise<z.output<Schema> | undefined> {
  const text = await readIfThere(file)
  if (text === undefined) return undefined
  if (((await stat(file)).mode & 0o077) !== 0)
    throw problem('CONFIG_INVALID', `${file} holds the agent's key and can be read by others: chmod 600 ${file}`)
  const result = schema.safeParse(asJson(text))
  if (!result.success) throw problem('CONFIG_INVALID', `${file} is damaged: move it away and enrol again with a new invitation`)
  return result.data
}
