import { useQuery } from '@tanstack/react-query'
import type { ManifestChange } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { ActionDialog, api, queryClient, Scroll } from '../kit/index.ts'
import { Changes } from './changes.tsx'
import { activeRolloutsQuery } from './queries.ts'
import { words } from './words.ts'

/** A manifest and its changes from the revision that was current when they were shown. */
export type Proposal = Readonly<{ manifest: unknown; revision: number; changes: readonly ManifestChange[] }>

type Props = Proposal & Readonly<{ cli: string; onApplied(revision: number): void; onClose(): void }>

/** Asks what `tenantry manifest apply` asks, and refuses where another manifest was applied meanwhile. */
export function ApplyDialog({ manifest, revision, changes, cli, onApplied, onClose }: Props) {
  const active = useQuery(activeRolloutsQuery)
  return (
    <ActionDialog
      title={words.applyTitle(changes.length, revision)}
      confirm={words.confirm}
      consequence={
        <>
          <p>{words.applyEffect}</p>
          {active.data?.map(({ id, manifestRevision }) => (
            <p key={id} className="tone-waiting">
              {words.activeRollout(id, manifestRevision)}
            </p>
          ))}
        </>
      }
      cli={() => cli}
      run={async () => {
        const now = await api.boxes.diffManifest({ body: { manifest } })
        if (now.revision !== revision) throw problem('CONFLICT', words.moved(revision, now.revision))
        const applied = await api.boxes.applyManifest({ body: { manifest } })
        await Promise.all([['manifest'], ['boxes'], ['rollout-plan']].map((queryKey) => queryClient.invalidateQueries({ queryKey })))
        onApplied(applied.revision)
      }}
      onClose={onClose}
    >
      <Scroll className="scrolling">
        <Changes changes={changes} label={words.changed(changes.length, revision)} />
      </Scroll>
    </ActionDialog>
  )
}
