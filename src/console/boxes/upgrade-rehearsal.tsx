import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { type BoxDetail, formerDatabaseText, upgradeText, upgradeTimes, upgradeWays } from '../../core/boxes/index.ts'
import { bytesText } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  Duration,
  type Fact,
  KeyValues,
  queryClient,
  quoted,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { words } from './words.ts'

/** The latest rehearsal of an upgrade to another major version, and the button that orders one. */
export function UpgradeRehearsal({ box }: Readonly<{ box: BoxDetail }>) {
  const { slug, upgradeRehearsal: rehearsal, openCommands } = box
  const [isAsked, setAsked] = useState(false)
  const { why } = useMay('boxes', 'rehearseUpgrade')
  const isOpen = openCommands.some(({ kind, status }) => kind === 'tenant-box.rehearse_upgrade' && status !== 'expired')
  if (!box.managed || !box.live) return null
  return (
    <Section
      title={words.upgrade}
      aside={
        <Button look="quiet" why={why ?? (isOpen ? words.rehearsing : undefined)} onPress={() => setAsked(true)}>
          {words.rehearse}
        </Button>
      }
    >
      {isOpen && <Status tone="working">{words.rehearsing}</Status>}
      {rehearsal ? <Result rehearsal={rehearsal} /> : !isOpen && <p className="dim">{words.noRehearsal}</p>}
      {(box.report?.facts?.formerDatabases ?? []).map((former) => (
        <p key={former.volume}>
          {words.formerDatabase(formerDatabaseText(former))} <Ago at={former.until} />
        </p>
      ))}
      {isAsked && <RehearseDialog slug={slug} onClose={() => setAsked(false)} />}
    </Section>
  )
}

type Rehearsal = NonNullable<BoxDetail['upgradeRehearsal']>

const Result = ({ rehearsal }: Readonly<{ rehearsal: Rehearsal }>) => (
  <>
    <p>
      <Status tone={rehearsal.ok ? 'ok' : 'failed'}>{upgradeText(rehearsal)}</Status> <Ago at={rehearsal.at} />
    </p>
    {rehearsal.findings.length > 0 && (
      <ul className="lines">
        {rehearsal.findings.map(({ severity, code, message }) => (
          <li key={`${code} ${message}`}>
            <Status tone={severity === 'refuse' ? 'failed' : 'warning'}>{code}</Status>
            <span className="grow">{message}</span>
          </li>
        ))}
      </ul>
    )}
    <KeyValues facts={factsOf(rehearsal)} />
  </>
)

const size = (bytes: number | null) => bytes !== null && bytesText(bytes)

const factsOf = ({ way, image, databaseBytes, dumpBytes, loadedBytes, times }: Rehearsal): readonly Fact[] => [
  ['Image', <code>{image}</code>],
  ['Way', upgradeWays[way]],
  ['Database', size(databaseBytes)],
  ['Dump', size(dumpBytes)],
  ['Loaded', size(loadedBytes)],
  ...upgradeTimes(times).map(([part, ms]): Fact => [part, <Duration ms={ms} />]),
]

function RehearseDialog({ slug, onClose }: Readonly<{ slug: string; onClose(): void }>) {
  const [written, setWritten] = useState('')
  const to = written.trim()
  return (
    <ActionDialog
      title={words.rehearseTitle(slug)}
      confirm={words.rehearse}
      consequence={<p>{words.rehearseEffect}</p>}
      cli={() => `tenantry boxes rehearse-upgrade ${slug}${to === '' ? '' : ` --to ${quoted(to)}`}`}
      run={async () => {
        await api.boxes.rehearseUpgrade({ params: { slug }, body: to === '' ? {} : { to } })
        await queryClient.invalidateQueries({ queryKey: ['boxes'] })
      }}
      onClose={onClose}
    >
      <TextField className="field" value={written} onChange={setWritten} autoComplete="off" autoFocus>
        <Label>{words.rehearseTo}</Label>
        <Input />
      </TextField>
    </ActionDialog>
  )
}
