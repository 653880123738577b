import { constants } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere, writeFileAtomic } from '../../../node/index.ts'

const [publicName, trustedName, checkpointsName] = ['audit-checkpoint.key.pub', 'audit-trusted.pub', 'audit-checkpoints.jsonl'] as const

/** Copies what proves the audit log and the approvals of modules: public keys and checkpoints, never the key that signs. */
export async function copyAuditKeys(dataDir: string, into: string): Promise<void> {
  await mkdir(into, { mode: 0o700 })
  for (const name of [publicName, trustedName, checkpointsName]) {
    if ((await readIfThere(join(dataDir, name))) === undefined) continue
    await copyFile(join(dataDir, name), join(into, name), constants.COPYFILE_EXCL)
  }
}

/** A new machine signs with a new key, and trusts those of the former one; what it has already stays. */
export async function loadAuditKeys(from: string, dataDir: string): Promise<void> {
  const trusted = join(dataDir, trustedName)
  const known = (await readIfThere(trusted)) ?? ''
  const found = await Promise.all([publicName, trustedName].map((name) => readIfThere(join(from, name))))
  const added = found.flatMap((text) => (text === undefined || known.includes(text.trim()) ? [] : [`${text.trim()}\n`]))
  if (added.length > 0) await writeFileAtomic(trusted, [known && `${known.trim()}\n`, ...added].join(''))
  const checkpoints = await readIfThere(join(from, checkpointsName))
  const hasOwn = (await readIfThere(join(dataDir, checkpointsName))) !== undefined
  if (checkpoints !== undefined && !hasOwn) await writeFileAtomic(join(dataDir, checkpointsName), checkpoints)
}
