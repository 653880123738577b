import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { type AgentIdentity, type AgentPrivateKey, type KeyStore, newAgentKey } from '../channel/index.ts'

const PrivateKey = z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string(), d: z.string() })
/** `replaces`: id of the key that it replaces. */
const NextKey = PrivateKey.extend({ replaces: z.string().exactOptional() })
const Identity = z.strictObject({ hostId: z.string(), name: z.string(), keyId: z.string(), daemonUrl: z.url(), privateKey: PrivateKey })

const identityFile = (stateDir: string) => join(stateDir, 'identity.json')
const pendingFile = (stateDir: string) => join(stateDir, 'pending-key.json')
const nextFile = (stateDir: string) => join(stateDir, 'next-key.json')
const askedFile = (stateDir: string) => join(stateDir, 'rotate-key')

/** Identity of this agent; undefined before enrolment. Throws CONFIG_INVALID when others can read the key or the file cannot be read. */
export async function readIdentity(stateDir: string): Promise<AgentIdentity | undefined> {
  return readPrivate(identityFile(stateDir), Identity, 'move it away and enrol again with a new invitation')
}

/**
 * Identity for a program that signs calls. Read it under the lock of the agent: a call by a key that was just replaced freezes the host.
 * Throws CONFIG before enrolment, and CONFIG_INVALID also for an unreadable next key, because the daemon may know only that one.
 */
export async function readSigningIdentity(stateDir: string): Promise<AgentIdentity> {
  const identity = await readIdentity(stateDir)
  if (!identity)
    throw problem(
      'CONFIG',
      'This agent is not enrolled. fix: tenantry hosts invite, then tenantry-agent enrol --url <daemon> --token-file <file>',
    )
  await readNextKey(stateDir, identity)
  return identity
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

/** Ends an unfinished rotation of an earlier enrolment. After the new identity is stored, or a crash in between would lose a valid key. */
export async function forgetRotation(stateDir: string): Promise<void> {
  for (const file of [nextFile(stateDir), askedFile(stateDir)]) await rm(file, { force: true })
}

/** The key to enrol. It is stored first, so that an enrolment with a lost response can be repeated with the same key. */
export async function pendingKey(stateDir: string): Promise<AgentPrivateKey> {
  const found = await readPrivate(pendingFile(stateDir), PrivateKey, 'remove it and enrol with a new invitation')
  return found ?? newPendingKey(stateDir)
}

export async function newPendingKey(stateDir: string): Promise<AgentPrivateKey> {
  const made = await newAgentKey()
  await writeFileAtomic(pendingFile(stateDir), `${JSON.stringify(made)}\n`, { mode: 0o600 })
  return made
}

/** Key files of an enrolled agent: a new key is stored before it is announced; the old one is deleted once the new one is valid. */
export const keyStore = (stateDir: string): KeyStore => ({
  pending: async () => readNextKey(stateDir, await readIdentity(stateDir)),
  prepare: async () => {
    const [made, identity] = [await newAgentKey(), await readIdentity(stateDir)]
    const next = { ...made, ...(identity ? { replaces: identity.keyId } : {}) }
    await writeFileAtomic(nextFile(stateDir), `${JSON.stringify(next)}\n`, { mode: 0o600 })
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

/** The new key of an unfinished rotation. One that replaces another key than the current one is removed: it belongs to an earlier enrolment. */
async function readNextKey(stateDir: string, identity: AgentIdentity | undefined): Promise<AgentPrivateKey | undefined> {
  const fix = `the daemon may know only this key: tenantry hosts revoke ${identity?.name ?? '<host>'} --reason '…', tenantry hosts invite, then tenantry-agent enrol --anew`
  const next = await readPrivate(nextFile(stateDir), NextKey, fix)
  if (!next) return undefined
  const { replaces, ...key } = next
  if (replaces === undefined || replaces === identity?.keyId) return key
  await rm(nextFile(stateDir), { force: true })
  return undefined
}

/** Undefined when the file does not exist. */
async function readPrivate<Schema extends z.ZodType>(file: string, schema: Schema, fix: string): Promise<z.output<Schema> | undefined> {
  const text = await readIfThere(file).catch((error: NodeJS.ErrnoException) => {
    throw problem('CONFIG_INVALID', `Cannot read ${file}: ${error.code}. fix: run tenantry-agent as the owner of the file, or ${fix}`)
  })
  if (text === undefined) return undefined
  if (((await stat(file)).mode & 0o077) !== 0)
    throw problem('CONFIG_INVALID', `${file} contains the agent's key and is readable by others. fix: chmod 600 ${file}`)
  const result = schema.safeParse(asJson(text))
  if (!result.success) throw problem('CONFIG_INVALID', `${file} is damaged. fix: ${fix}`)
  return result.data
}
