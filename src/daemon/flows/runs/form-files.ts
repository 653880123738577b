import { createHash } from 'node:crypto'
import { type ElementOf, readForm } from '../../../core/boards/index.ts'
import { inlineType } from '../../../core/files/index.ts'
import { type FieldReason, problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { findFile } from '../../files/index.ts'
import type { RunsDeps } from './deps.ts'
import type { RunRecord } from './runs.repo.ts'

type Values = Readonly<Record<string, unknown>>
type Submitted = Readonly<{ run: RunRecord; element: ElementOf<'form'>; by: string; values: Values }>

const maxSignatureBytes = 200 * 1024
const begin = 'data:image/png;base64,'

/** True if a value may be a drawn signature, which is stored before the run is locked. */
export const hasDrawing = (values: Values): boolean => Object.values(values).some((value) => isDrawing(value))

/** Checks everything else of a form before its drawings become files, which count in the quota. Throws VALIDATION. */
export async function assertBeforeDrawings(tx: Tx, { values, ...submitted }: Submitted): Promise<void> {
  const { fields } = submitted.element.config
  const entries = Object.entries(values)
  readForm(fields, Object.fromEntries(entries.map(([name, value]) => [name, isDrawing(value) ? 'drawing' : value])))
  for (const { name, kind } of fields) if (kind === 'signature' && isDrawing(values[name])) pngOf(name, values[name])
  await assertFiles(tx, { ...submitted, values: Object.fromEntries(entries.filter(([, value]) => !isDrawing(value))) })
}

const isDrawing = (value: unknown): value is string => typeof value === 'string' && value.startsWith(begin)

/**
 * Stores each drawn signature as a file of the space, with its hash and signer, and puts the id of the file in its place. The same signature again
 * is the same file. Throws VALIDATION (no PNG, too large), QUOTA_EXCEEDED, OBJECT_STORE_UNAVAILABLE.
 */
export async function storeSignatures(
  { storeFile }: Pick<RunsDeps, 'storeFile'>,
  { run, element, by, values }: Submitted,
): Promise<Values> {
  const stored: Record<string, unknown> = { ...values }
  for (const { name, kind, label } of element.config.fields) {
    const value = values[name]
    if (kind !== 'signature' || !isDrawing(value) || run.spaceId === null) continue
    const content = pngOf(name, value)
    const { tenantId, spaceId, id: runId } = run
    const hash = createHash('sha256')
      .update(JSON.stringify([tenantId, runId, element.id, name, by]))
      .update(content)
      .digest('hex')
    const file = { id: `fil_${hash.slice(0, 20)}`, name: `${label}.png`, contentType: 'image/png', content }
    stored[name] = (await storeFile({ ...file, tenantId, spaceId, createdBy: by })).id
  }
  return stored
}

function pngOf(name: string, value: string): Buffer {
  const content = Buffer.from(value.slice(begin.length), 'base64')
  if (content.length > maxSignatureBytes || inlineType(content) !== 'image/png')
    throw refused([{ path: `data.${name}`, reason: 'must be a PNG of at most 200 KB' }])
  return content
}

/** Throws VALIDATION for a file that is not in the space of the run, and for a signature that is not a PNG of the caller. */
export async function assertFiles(db: DbOrTx, { run: { tenantId, spaceId }, element, by, values }: Submitted): Promise<void> {
  const reasons: FieldReason[] = []
  for (const { name, kind } of element.config.fields) {
    const fileId = values[name]
    if ((kind !== 'file' && kind !== 'signature') || typeof fileId !== 'string') continue
    const found = spaceId === null ? undefined : await findFile(db, { tenantId, spaceId, fileId })
    const path = `data.${name}`
    if (found?.state !== 'ready') reasons.push({ path, reason: 'must be the id of a file in the space of the run' })
    else if (
      kind === 'signature' &&
      !(found.shownAs === 'image/png' && found.file.createdBy === by && found.file.bytes <= maxSignatureBytes)
    )
      reasons.push({ path, reason: 'must be a signature of your own: a PNG of at most 200 KB' })
  }
  if (reasons.length > 0) throw refused(reasons)
}

const refused = (details: readonly FieldReason[]) =>
  problem('VALIDATION', `The values were not accepted: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
