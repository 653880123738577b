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

/** Identity of this agent; undefined before enrolment. Throws CONFIG_INVALID when others can read the key or the file is damaged. */
export async function readIdentity(stateDir: string): Promise<AgentIdentity | undefined> {
  return readPrivate(identityFile(stateDir), Identity)
}

export async function writeIdentity(stateDir: string, identity: AgentIdentity): Promise<void> {
  await writeFileAtomic(identityFile(stateDir), `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600 })
  await rm(pendingFile(stateDir), { force: true })
}

/** Whether a new key is stored that the agent does not use yet, or cannot be read. */
export const isRotationOpen = (stateDir: string): Promise<boolean> =>
  stat(nextFile(stateDir)).then(
    () => true,
    () => false,
  )

/** Ends an unfinished rotation of an earlier enrolment: its key is not announced for the new one. */
export async function forgetRotation(stateDir: string): Promise<void> {
  for (const file of [nextFile(stateDir), askedFile(stateDir)]) await rm(file, { force: true })
}

/** The key to enrol. It is stored first, so that an enrolment with a lost response can be repeated with the same key. */
export async function pendingKey(stateDir: string): Promise<AgentPrivateKey> {
  const found = await readPrivate(pendingFile(stateDir), PrivateKey)
  if (found) return found
  const made = await newAgentKey()
  await writeFileAtomic(pendingFile(stateDir), `${JSON.stringify(made)}\n`, { mode: 0o600 })
  return made
}

/** Key files of an enrolled agent: a new key is stored before it is announced; the old one is deleted once the new one is valid. */
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

/** Requests a key rotation from the running agent. */
export const askForRotation = (stateDir: string): Promise<void> => writeFileAtomic(askedFile(stateDir), '', { mode: 0o600 })

export const isRotationAsked = async (stateDir: string): Promise<boolean> => (await readIfThere(askedFile(stateDir))) !== undefined

async function readPrivate<Schema extends z.ZodType>(file: string, schema: Schema): Promise<z.output<Schema> | undefined> {
  const text = await readIfThere(file)
  if (text === undefined) return undefined
  if (((await stat(file)).mode & 0o077) !== 0)
    throw problem('CONFIG_INVALID', `${file} contains the agent's key and is readable by others. fix: chmod 600 ${file}`)
  const result = schema.safeParse(asJson(text))
  if (!result.success) throw problem('CONFIG_INVALID', `${file} is damaged. fix: move it away and enrol again with a new invitation`)
  return result.data
}
