import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { isProblem } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'
import { ActionDialog, ago, api, Check, queryClient, quoted, useNow } from '../kit/index.ts'
import type { Started } from './command-line.tsx'
import { words } from './words.ts'

type Props = Readonly<{ onStarted(started: Started): void; onClose(): void }>
type OfSnapshot = Props & Readonly<{ snapshot: Snapshot }>

const refresh = () => queryClient.invalidateQueries({ queryKey: ['snapshots'] })

export function TakeDialog({ slug: shown, onStarted, onClose }: Props & Readonly<{ slug: string | undefined }>) {
  const [slug, setSlug] = useState(shown ?? '')
  return (
    <ActionDialog
      title={words.takeTitle}
      confirm={words.takeConfirm}
      isComplete={slug.trim() !== ''}
      consequence={<p>{words.takeWhat}</p>}
      cli={() => `tenantry snapshots take ${slug.trim() || '<slug>'} --wait`}
      run={async () => {
        const { commandId } = await api.snapshots.takeSnapshot({ params: { slug: slug.trim() } })
        onStarted({ commandId, slug: slug.trim(), kind: 'take' })
        await refresh()
      }}
      onClose={onClose}
    >
      <TextField className="field" value={slug} onChange={setSlug} autoComplete="off" autoFocus>
        <Label>{words.box}</Label>
        <Input />
      </TextField>
    </ActionDialog>
  )
}

const shortId = (id: string): string => id.slice(0, 8)

export function DrillDialog({ snapshot: { slug, snapshotId }, onStarted, onClose }: OfSnapshot) {
  return (
    <ActionDialog
      title={words.drillTitle(slug)}
      confirm={words.drillConfirm}
      consequence={<p>{words.drillWhat(shortId(snapshotId))}</p>}
      cli={() => `tenantry snapshots drill ${slug} --snapshot ${shortId(snapshotId)} --wait`}
      run={async () => {
        const { commandId } = await api.snapshots.drillBox({ params: { slug }, body: { snapshotId } })
        onStarted({ commandId, slug, kind: 'drill' })
        await refresh()
      }}
      onClose={onClose}
    />
  )
}

/** The loss first, then the name of the box typed; a vulnerability that would return is named by the daemon and wants its own consent. */
export function RestoreDialog({ snapshot, onStarted, onClose }: OfSnapshot) {
  const { slug, snapshotId, tier, takenAt, lastProof, status } = snapshot
  const now = useNow()
  const [isVulnerable, setVulnerable] = useState(false)
  const [allowHole, setAllowHole] = useState(false)
  return (
    <ActionDialog
      title={words.restoreTitle(slug)}
      confirm={words.restoreConfirm}
      danger
      reason="required"
      typed={slug}
      isComplete={!isVulnerable || allowHole}
      consequence={
        <>
          <p>{`${words.restoreWhat(slug, shortId(snapshotId), tier)} ${words.columns.taken} ${ago(takenAt, now)}.`}</p>
          <p className="tone-failed">{words.loss(Math.max(0, now.getTime() - Date.parse(takenAt)))}</p>
          <p>{words.offline}</p>
          <p className={status === 'damaged' || !lastProof ? 'tone-failed' : undefined}>
            {status === 'damaged'
              ? words.damaged
              : lastProof
                ? words.proofBefore(ago(lastProof.at, now), lastProof.durationMs)
                : words.unproven}
          </p>
        </>
      }
      cli={({ reason }) =>
        `tenantry snapshots restore ${slug} --snapshot ${shortId(snapshotId)} --reason ${reason === '…' ? "'…'" : quoted(reason)}${allowHole ? ' --allow-vulnerable' : ''} --wait`
      }
      run={async ({ reason }) => {
        try {
          const { commandId } = await api.snapshots.restoreBox({
            params: { slug },
            body: { snapshotId, reason, ...(allowHole ? { allowHole: true } : {}) },
          })
          onStarted({ commandId, slug, kind: 'restore' })
          await refresh()
        } catch (error) {
          if (isProblem(error, 'REINTRODUCES_CVE')) setVulnerable(true)
          throw error
        }
      }}
      onClose={onClose}
    >
      {isVulnerable && (
        <Check isSelected={allowHole} onChange={setAllowHole}>
          {words.anyway}
        </Check>
      )}
    </ActionDialog>
  )
}
