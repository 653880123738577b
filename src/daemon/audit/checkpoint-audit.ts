import { sign } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Checkpoint, checkpointText } from '../../core/audit/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type Logger, readIfThere } from '../../node/index.ts'
import { type Db, enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import { chainNames, headOf } from './audit.repo.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'

type CheckpointNeeds = Readonly<{ db: Db; clock: Clock; log: Logger; dataDir: string }>

/** The outbox topic of `requestCheckpoint`. */
export const checkpointTopic = 'audit.checkpoint'

/** Asks, in the transaction that ends a phase, for a checkpoint of the chain once it is committed. */
export const requestCheckpoint = (tx: Tx, clock: Clock, { chain = 'admin' }: { chain?: string } = {}): Promise<void> =>
  enqueueOutbox(tx, clock, { topic: checkpointTopic, payload: { chain } })

export const checkpointHandler =
  (needs: CheckpointNeeds): OutboxHandler =>
  async (payload) => {
    await checkpointAudit(needs, payload as { chain?: string })
  }

/**
 * Signs the heads of all chains (or one) that moved since their last checkpoint, and appends them to `audit-checkpoints.jsonl` and the log.
 * Doing it twice adds nothing.
 */
export async function checkpointAudit(needs: CheckpointNeeds, { chain }: { chain?: string | undefined } = {}): Promise<Checkpoint[]> {
  const { db, log, dataDir } = needs
  const file = join(dataDir, 'audit-checkpoints.jsonl')
  const before = (await readIfThere(file)) ?? ''
  const written = lastHashes(before)
  const made: Checkpoint[] = []
  for (const name of chain === undefined ? await chainNames(db) : [chain]) {
    const head = await headOf(db, name)
    if (head.seq > 0 && written.get(name) !== head.hash) made.push(await signed(needs, { chain: name, count: head.seq, hash: head.hash }))
  }
  if (made.length === 0) return made
  const cutShort = before !== '' && !before.endsWith('\n') // a crash in the middle of a line: ours begins on the next
  const lines = made.map((checkpoint) => `${JSON.stringify(checkpoint)}\n`).join('')
  await appendFile(file, cutShort ? `\n${lines}` : lines, { mode: 0o600, flush: true })
  for (const checkpoint of made) log.info({ checkpoint }, 'audit checkpoint')
  return made
}

async function signed({ clock, dataDir }: CheckpointNeeds, head: { chain: string; count: number; hash: string }): Promise<Checkpoint> {
  const key = await loadCheckpointKey(dataDir)
  const content = { ...head, at: isoNow(clock) }
  const signature = sign(null, Buffer.from(checkpointText(content)), key.privateKey).toString('base64url')
  return { ...content, keyId: key.id, signature }
}

/** The hash of each chain's last checkpoint. A line that a crash cut short counts for nothing. */
const lastHashes = (text: string): ReadonlyMap<string, string> =>
  new Map(text.split('\n').flatMap((line) => parsed(line).map(({ chain, hash }) => [chain, hash] as const)))

function parsed(line: string): Checkpoint[] {
  try {
    return [JSON.parse(line) as Checkpoint]
  } catch {
    return []
  }
}
