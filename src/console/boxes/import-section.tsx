import { useState } from 'react'
import {
  type BoxCommandResult,
  type BoxDetail,
  databaseCopyText,
  type ImportPlan,
  isImportFinished,
  lifecycleQuestions,
} from '../../core/boxes/index.ts'
import { bytesText } from '../../core/kit/index.ts'
import { ActionDialog, api, Button, Check, type Fact, KeyValues, queryClient, quoted, Section, Status, useMay } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'
import { importCommand } from './commands.ts'
import { words } from './words.ts'

/** An adopted stack that is not imported: what to do about it, the plan of its import, and the import. */
export function Import({ box: { slug, findings, import: latest } }: Readonly<{ box: BoxDetail }>) {
  const [plan, setPlan] = useState<ImportPlan>()
  const [drop, setDrop] = useState<readonly string[]>([])
  const [opened, setOpened] = useState<'plan' | 'import'>()
  const [planning, importing] = [useMay('boxes', 'planImport').why, useMay('boxes', 'importBox').why]
  if (findings.length === 0 || (latest && !isImportFinished(latest.state))) return null
  const close = () => setOpened(undefined)
  const isReady = plan?.ready === true
  return (
    <Section
      title={words.import}
      aside={
        <>
          <Button why={planning} onPress={() => setOpened('plan')}>
            {words.planImport}
          </Button>
          <Button why={importing ?? (isReady ? undefined : words.planFirst)} onPress={() => setOpened('import')}>
            {words.importBox}
          </Button>
        </>
      }
    >
      <Lines texts={findings} tone="waiting" />
      {plan && <Plan plan={plan} />}
      {opened === 'plan' && (
        <ActionDialog
          title={words.planImportTitle(slug)}
          consequence={<p>{words.planImportEffect}</p>}
          confirm={words.planImportConfirm}
          cli={() => importCommand(slug, drop, '--plan')}
          run={async () => setPlan(await planOf(slug, drop))}
          onClose={close}
        >
          {plan?.dropped.map(({ name, consequence }) => (
            <Check
              key={name}
              isSelected={drop.includes(name)}
              onChange={(isAccepted) => setDrop((before) => (isAccepted ? [...before, name] : before.filter((one) => one !== name)))}
            >
              {words.acceptDrop(name, consequence)}
            </Check>
          ))}
        </ActionDialog>
      )}
      {opened === 'import' && plan && (
        <ActionDialog
          title={lifecycleQuestions.importBox(slug, plan.downtimeMs)}
          consequence={<p>{words.importEffect}</p>}
          confirm={words.importConfirm}
          danger
          reason="required"
          cli={({ reason }) => importCommand(slug, acceptedIn(plan), `--reason ${quoted(reason)}`)}
          run={async ({ reason }) => {
            await api.boxes.importBox({ params: { slug }, body: { drop: acceptedIn(plan), reason } })
            await queryClient.invalidateQueries({ queryKey: ['boxes'] })
          }}
          onClose={close}
        />
      )}
    </Section>
  )
}

async function planOf(slug: string, drop: readonly string[]): Promise<ImportPlan> {
  const { commandId } = await api.boxes.planImport({ params: { slug }, body: { drop: [...drop] } })
  return ((await awaitCommand(commandId)) as BoxCommandResult<'tenant-box.survey_import'>).plan
}

/** The plan that nothing blocks was made with these. */
const acceptedIn = ({ dropped }: ImportPlan): string[] => dropped.filter(({ accepted }) => accepted).map(({ name }) => name)

const Plan = ({ plan }: Readonly<{ plan: ImportPlan }>) => (
  <>
    <p role="status">
      <Status tone={plan.ready ? 'ok' : 'failed'}>{plan.ready ? words.canImport : words.cannotImport}</Status>
    </p>
    <Lines texts={plan.blockers} tone="failed" />
    <Lines texts={plan.warnings} tone="waiting" />
    <KeyValues facts={planFacts(plan)} />
  </>
)

const planFacts = ({
  found: { chatServer, database, media, objects, addresses },
  databaseCopy,
  dropped,
  space,
}: ImportPlan): readonly Fact[] => [
  ['Chat server', chatServer && `Synapse ${chatServer.version ?? 'unknown'} in ${chatServer.container}`],
  ['Database', database && `${database.name} in ${database.container}, PostgreSQL ${database.version}, ${bytesText(database.bytes)}`],
  ['Database copy', databaseCopy && databaseCopyText(databaseCopy)],
  ['Media', media && `${media.path}, ${bytesText(media.bytes)}`],
  ['Objects', objects && `${objects.container}, ${bytesText(objects.bytes)}`],
  ['Addresses', addresses.join(', ')],
  ['Left out', dropped.map(({ name }) => name).join(', ')],
  ['Disk space', `${bytesText(space.neededBytes)} needed, ${bytesText(space.freeBytes)} free`],
]

const Lines = ({ texts, tone }: Readonly<{ texts: readonly string[]; tone: 'waiting' | 'failed' }>) => (
  <ul className="lines">
    {texts.map((text) => (
      <li key={text}>
        <Status tone={tone}>{text}</Status>
      </li>
    ))}
  </ul>
)
