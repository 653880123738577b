import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type BoxDetail, boxState } from '../../core/boxes/index.ts'
import { Ago, KeyValues, Loaded, PageHeader, Section, Status } from '../kit/index.ts'
import { BoxActions } from './box-actions.tsx'
import { factsOf, Probe, Versions } from './box-facts.tsx'
import { History, Snapshots } from './box-history.tsx'
import { Lifecycle } from './box-lifecycle.tsx'
import { Sizes } from './box-sizes.tsx'
import { boxTone, driftTones, marksOf } from './box-state.ts'
import { Import } from './import-section.tsx'
import { Logs } from './logs-panel.tsx'
import { boxQuery } from './queries.ts'
import { Services } from './services-panel.tsx'
import { UpgradeRehearsal } from './upgrade-rehearsal.tsx'
import { words } from './words.ts'

export function Page() {
  const { slug = '' } = useParams({ strict: false }) as { slug?: string }
  const query = useQuery(boxQuery(slug))
  return (
    <>
      <PageHeader title={slug} answer={query.data && <Answer box={query.data} />} actions={query.data && <BoxActions box={query.data} />} />
      <Loaded query={query} rows={10}>
        {(box) => <Detail box={box} />}
      </Loaded>
    </>
  )
}

const Answer = ({ box }: Readonly<{ box: BoxDetail }>) => (
  <span className="counts">
    <Status tone={boxTone(box)}>{boxState(box)}</Status>
    {box.health?.why && (
      <span>
        {box.health.why} {box.health.since && <Ago at={box.health.since} />}
      </span>
    )}
    <Status tone={driftTones[box.severity]}>{words.driftOf(box.severity)}</Status>
    <span>{box.tenant}</span>
    {marksOf(box) && <span>{marksOf(box)}</span>}
  </span>
)

const Detail = ({ box }: Readonly<{ box: BoxDetail }>) => (
  <>
    {box.setUp.error && box.status !== 'ready' && (
      <div className="problem" role="alert">
        <p className="problem-title">
          Set-up failed <code className="dim">{box.setUp.error.code}</code>
        </p>
        <p>{box.setUp.error.message}</p>
      </div>
    )}
    <Lifecycle box={box} />
    <Import box={box} />
    <Services box={box} />
    <Logs box={box} />
    <Section title={words.versions} aside={box.last_drift_check_at && <>compared {<Ago at={box.last_drift_check_at} />}</>}>
      <Versions box={box} />
    </Section>
    <div className="columns">
      <Section title={words.box}>
        <KeyValues facts={factsOf(box)} />
      </Section>
      <Section title={words.probe} aside={box.probe && <Ago at={box.probe.at} />}>
        <Probe box={box} />
      </Section>
    </div>
    <UpgradeRehearsal box={box} />
    <Sizes box={box} />
    <Snapshots slug={box.slug} />
    <History slug={box.slug} />
  </>
)
