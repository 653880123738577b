import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type BoxCommandResult, type BoxDetail, lifecycleQuestions, type Plan } from '../../core/boxes/index.ts'
import { ActionDialog, api, Button, Choices, Field, queryClient, Scroll, Section, Status, useMay } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'
import { type AdoptTexts, adoptCommand, type Outcome, outcomeOf } from './commands.ts'
import { HostChoice } from './host-choice.tsx'
import { words } from './words.ts'

type Completion = BoxCommandResult<'tenant-box.complete'>

/** An observed box: what speaks against managing it, and the dialogs that complete its adoption. */
export function Adoption({ box: { slug, live, managed, findings } }: Readonly<{ box: BoxDetail }>) {
  const [asks, setAsks] = useState(false)
  const [shown, setShown] = useState<Completion>()
  const [outcome, setOutcome] = useState<Outcome>()
  const { why } = useMay('boxes', 'completeBox')
  if (!live || (managed && !outcome)) return null
  return (
    <Section
      title={words.adoption}
      aside={
        !managed && (
          <Button why={why} onPress={() => setAsks(true)}>
            {words.complete}
          </Button>
        )
      }
    >
      {!managed && <p>{words.observed}</p>}
      {outcome && (
        <p role="status">
          <Status tone={outcome[0]}>{outcome[1]}</Status>
        </p>
      )}
      {!managed && (findings.length > 0 ? <Findings findings={findings} /> : <p className="dim">{words.noFindings}</p>)}
      {asks && (
        <ActionDialog
          title={words.compareTitle(slug)}
          consequence={<p>{words.compareEffect}</p>}
          confirm={words.compare}
          cli={() => `tenantry boxes adopt ${slug} --complete`}
          run={async () => {
            const completion = await complete(slug, null)
            if (completion.diff === '' && completion.findings.length > 0) setOutcome(['failed', words.cannotManage(completion.findings)])
            else setShown(completion)
          }}
          onClose={() => setAsks(false)}
        />
      )}
      {shown && !asks && (
        <ActionDialog
          title={lifecycleQuestions.complete(slug)}
          consequence={<Findings findings={shown.findings} />}
          confirm={words.apply}
          danger
          cli={() => `tenantry boxes adopt ${slug} --complete`}
          run={async () => {
            const { commandId } = await api.boxes.completeBox({ params: { slug }, body: { expected: shown.diffSha256 } })
            setOutcome(['working', words.applying])
            void followCompletion(slug, commandId).then(setOutcome)
          }}
          onClose={() => setShown(undefined)}
        >
          <Scroll className="scrolling" as="pre">
            {shown.diff}
          </Scroll>
        </ActionDialog>
      )}
    </Section>
  )
}

const Findings = ({ findings }: Readonly<{ findings: readonly string[] }>) => (
  <ul className="lines">
    {findings.map((finding) => (
      <li key={finding}>
        <Status tone="waiting">{finding}</Status>
      </li>
    ))}
  </ul>
)

async function complete(slug: string, expected: string | null): Promise<Completion> {
  const { commandId } = await api.boxes.completeBox({ params: { slug }, body: { expected } })
  return (await awaitCommand(commandId)) as Completion
}

/** The restarts of an adoption may take an hour, so the dialog does not wait for them. */
async function followCompletion(slug: string, commandId: string): Promise<Outcome> {
  try {
    return outcomeOf(slug, (await awaitCommand(commandId)) as Completion)
  } catch (error) {
    return ['failed', (error as Error).message]
  } finally {
    await queryClient.invalidateQueries({ queryKey: ['boxes'] })
  }
}

const texts = ['slug', 'folder', 'project', 'name', 'chatDomain', 'publicUrl'] as const satisfies readonly (keyof AdoptTexts)[]
const placeholders: AdoptTexts = {
  ...{ slug: 'anna-schule', folder: '/srv/anna-schule', project: 'anna-schule', name: 'Anna-Schule' },
  ...{ chatDomain: 'chat.anna-schule.example', publicUrl: '' },
}
const none: AdoptTexts = { slug: '', folder: '', project: '', name: '', chatDomain: '', publicUrl: '' }
const plans = ['light', 'pro', 'dedicated'] as const satisfies readonly Plan[]

/** Asks what `tenantry boxes adopt` asks, and opens the page of the box. */
export function AdoptDialog({ onClose }: Readonly<{ onClose(): void }>) {
  const navigate = useNavigate()
  const [fields, setFields] = useState(none)
  const [host, setHost] = useState<string>()
  const [plan, setPlan] = useState<Plan>('light')
  const { publicUrl, ...required } = fields
  return (
    <ActionDialog
      title={words.adoptTitle}
      consequence={<p>{words.adoptEffect}</p>}
      confirm={words.adoptConfirm}
      isComplete={host !== undefined && Object.values(required).every((text) => text.trim() !== '')}
      cli={() => adoptCommand({ ...fields, host, plan })}
      run={async () => {
        if (host === undefined) return
        await api.boxes.adoptBox({ body: { ...required, host, plan, ...(publicUrl ? { publicUrl } : {}) } })
        await queryClient.invalidateQueries({ queryKey: ['boxes'] })
        void navigate({ to: `/boxes/${fields.slug}` })
      }}
      onClose={onClose}
    >
      {texts.map((name, place) => (
        <Field
          key={name}
          label={words.adoptFields[name]}
          placeholder={placeholders[name]}
          value={fields[name]}
          onChange={(text) => setFields((before) => ({ ...before, [name]: text }))}
          autoFocus={place === 0}
        />
      ))}
      <Choices
        label={words.plan}
        value={plan}
        onChange={(value) => setPlan(value as Plan)}
        choices={plans.map((value) => ({ value, label: value }))}
      />
      <HostChoice label={words.host} value={host} onChange={setHost} />
    </ActionDialog>
  )
}
