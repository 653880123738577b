import { type Finding, refusal } from './finding.ts'
import type { CompletedUpdate } from './plan-undo.ts'

const gone: Readonly<Record<string, string>> = {
  forgotten: 'was given up by retention',
  missing: 'is missing from its repository',
  damaged: 'could not be read back when it was last tried',
}

/** Whether the snapshot from before the update is there to go back to. */
export function snapshotFindings({ slug, snapshot }: CompletedUpdate): Finding[] {
  const list = `\`tenantry snapshots list --slug ${slug}\` shows all`
  if (!snapshot) return [refusal('SNAPSHOT_GONE', `no snapshot of ${slug} from before this rollout is known: ${list}`)]
  const why = gone[snapshot.status]
  if (why === undefined) return []
  return [refusal('SNAPSHOT_GONE', `the snapshot ${snapshot.snapshotId.slice(0, 8)} of ${slug} from before this rollout ${why}: ${list}`)]
}
