import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { diffManifests, type ManifestRevision } from '../../core/boxes/index.ts'
import { gatesOf, limitsText } from '../../core/rollouts/index.ts'
import { fleetQuery } from '../boxes/index.ts'
import {
  Ago,
  Breakable,
  Button,
  CliLine,
  Empty,
  Id,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  Section,
  Status,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { ApplyDialog } from './apply-dialog.tsx'
import { Changes } from './changes.tsx'
import { revisionQuery, revisionsQuery } from './queries.ts'
import { History, Tiers } from './tables.tsx'
import { words } from './words.ts'
import './manifest.css'

/** The current manifest, or the revision of the address. */
export function Page() {
  const [{ revision: asked }] = useSearchState()
  const all = useQuery(revisionsQuery)
  const current = all.data?.revisions[0]
  const revision = asked === undefined ? current?.revision : Number(asked)
  const shown = useQuery({ ...revisionQuery(revision ?? 0), enabled: revision !== undefined })
  const { why } = useMay('boxes', 'applyManifest')
  return (
    <>
      <PageHeader
        title={words.title}
        answer={current && <Answer current={current} shown={revision ?? 0} />}
        actions={<NewButton why={why} />}
      />
      <Loaded query={all} rows={8}>
        {({ revisions }) =>
          current === undefined ? (
            <NoManifest />
          ) : (
            <>
              <Loaded query={shown} rows={8}>
                {([found, before]) =>
                  found ? (
                    <Revision key={found.revision} found={found} before={before} current={current} why={why} />
                  ) : (
                    <Empty title={words.missing(asked ?? '')} tone="off">
                      <Link to="/manifest">{words.toCurrent}</Link>
                    </Empty>
                  )
                }
              </Loaded>
              <History revisions={revisions} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

const NewButton = ({ why }: Readonly<{ why: string | undefined }>) =>
  why ? (
    <Button why={why}>{words.create}</Button>
  ) : (
    <Link to="/manifest/new" className="button primary">
      {words.create}
    </Link>
  )

const NoManifest = () => (
  <Empty title={words.none} tone="off">
    <p>{words.noneHint}</p>
    <CliLine>tenantry manifest apply manifest.yaml</CliLine>
  </Empty>
)

function Answer({ current, shown }: Readonly<{ current: ManifestRevision; shown: number }>) {
  const { data } = useQuery(fleetQuery)
  if (shown !== current.revision)
    return (
      <Status tone="off">
        {words.revision(shown)}, {words.superseded(current.revision)}
      </Status>
    )
  const drifted = data ? data.drift.minor + data.drift.major : undefined
  return (
    <>
      <Status tone={drifted ? 'warning' : data?.boxes ? 'ok' : 'off'}>{words.revision(current.revision)}</Status>
      {drifted === 0 && data?.drift.unknown === 0 && `: ${words.inSync}`}
      {drifted ? (
        <>
          : <Link to="/plan">{words.drifted(drifted)}</Link>
        </>
      ) : null}
    </>
  )
}

type RevisionProps = Readonly<{
  found: ManifestRevision
  before: ManifestRevision | undefined
  current: ManifestRevision
  why: string | undefined
}>

function Revision({ found, before, current, why }: RevisionProps) {
  const { revision, manifest, appliedAt, appliedBy } = found
  const isCurrent = revision === current.revision
  const gates = gatesOf('staged', manifest)
  return (
    <>
      <Section
        title={words.versions}
        aside={
          <>
            {words.revision(revision)}, applied <Ago at={appliedAt} /> by {appliedBy}
          </>
        }
      >
        <Tiers tiers={manifest.tiers} />
      </Section>
      <Section title={words.images}>
        <KeyValues
          facts={Object.entries(manifest.images).map(([service, image]) => [
            service,
            <code key={service}>
              <Breakable>{image}</Breakable>
            </code>,
          ])}
        />
      </Section>
      {gates.length > 0 && (
        <Section title={words.gates}>
          <KeyValues
            facts={gates.map((gate) => [
              gate.name,
              <span key={gate.name}>
                {limitsText(gate)}: <code>{gate.query}</code>
              </span>,
            ])}
          />
        </Section>
      )}
      <Section title={words.changesFrom(before?.revision ?? 0)}>
        {before ? (
          <Changes changes={diffManifests(before.manifest, manifest)} label={words.changesFrom(before.revision)} />
        ) : (
          <p className="dim">{words.first}</p>
        )}
        <CliLine>{isCurrent ? 'tenantry manifest show' : `tenantry manifest show --revision ${revision}`}</CliLine>
      </Section>
      {manifest.digests && Object.keys(manifest.digests).length > 0 && <Digests digests={manifest.digests} />}
      {!isCurrent && <Again found={found} current={current} why={why} />}
    </>
  )
}

const Digests = ({ digests }: Readonly<{ digests: Readonly<Record<string, string>> }>) => (
  <Section title={words.digests}>
    <ul className="lines">
      {Object.entries(digests).map(([image, digest]) => (
        <li key={image}>
          <code className="grow">{image}</code>
          <Id short={digest.slice(0, 19)}>{digest}</Id>
        </li>
      ))}
    </ul>
  </Section>
)

/** An earlier revision against the current one, to apply it again. */
function Again({ found, current, why }: Readonly<{ found: ManifestRevision; current: ManifestRevision; why: string | undefined }>) {
  const [asking, setAsking] = useState(false)
  const [, change] = useSearchState()
  const changes = diffManifests(current.manifest, found.manifest)
  return (
    <Section
      title={words.againstCurrent(current.revision)}
      aside={
        changes.length > 0 && (
          <Button why={why} onPress={() => setAsking(true)}>
            {words.again}
          </Button>
        )
      }
    >
      {changes.length === 0 ? (
        <p className="dim">{words.noChange(current.revision)}</p>
      ) : (
        <Changes changes={changes} label={words.againstCurrent(current.revision)} />
      )}
      {asking && (
        <ApplyDialog
          {...{ manifest: found.manifest, revision: current.revision, changes }}
          cli={`tenantry manifest rollback ${found.revision}`}
          onApplied={() => change({ revision: undefined })}
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  )
}
