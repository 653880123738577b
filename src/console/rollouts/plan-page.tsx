import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { fenceModes, fenceModeText, snapshotModes, snapshotModeText } from '../../core/rollouts/index.ts'
import {
  At,
  Button,
  Check,
  Choices,
  CliLine,
  Field,
  Link,
  Loaded,
  PageHeader,
  type SearchState,
  Status,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { CreateDialog } from './create-dialog.tsx'
import { PlanView } from './plan-view.tsx'
import { planAnswer, planOptions } from './plan-words.ts'
import { type PlanInput, planQuery } from './queries.ts'
import { RehearsalSection } from './rehearsal.tsx'
import { words } from './words.ts'
import './rollouts.css'

const { plan: text } = words
const minuteMs = 60_000

/** The plan's options are in the address, so that a link shows the same plan. */
function inputOf({ only, windows, long, parallel, bake, fence, snapshot }: SearchState): PlanInput {
  const fenceMode = fenceModes.find((mode) => mode === fence && mode !== 'auto')
  const snapshotMode = snapshotModes.find((mode) => mode === snapshot && mode !== 'auto')
  const targetSlugs = (only ?? '').split(/[\s,]+/).filter(Boolean)
  return {
    ...(targetSlugs.length > 0 ? { targetSlugs } : {}),
    allowLongFence: long === '1',
    ignoreWindows: windows === '1',
    ...(Number(parallel) > 0 ? { parallel: Math.floor(Number(parallel)) } : {}),
    ...(fenceMode ? { fenceMode } : {}),
    ...(snapshotMode ? { snapshotMode } : {}),
    ...(Number(bake) > 0 ? { bakeMs: Math.round(Number(bake) * minuteMs) } : {}),
  }
}

export function Page() {
  const [search, change] = useSearchState()
  const input = inputOf(search)
  const plan = useQuery(planQuery(input))
  const [isApplied, setApplied] = useState(false)
  const [creating, setCreating] = useState(false)
  const mayCreate = useMay('rollouts', 'createRollout').why
  const updates = plan.data?.updates ?? 0
  return (
    <>
      <PageHeader
        title={text.title}
        answer={
          plan.data && (
            <Status
              tone={plan.data.refusals > 0 ? 'failed' : plan.data.updates > 0 ? 'working' : plan.data.boxes.length > 0 ? 'ok' : 'off'}
            >
              <span className="wrap">{planAnswer(plan.data)}</span>
            </Status>
          )
        }
        actions={
          <>
            <Button onPress={() => void plan.refetch()} isDisabled={plan.isFetching}>
              {text.again}
            </Button>
            <Button look="primary" why={mayCreate ?? (updates === 0 ? text.nothing : undefined)} onPress={() => setCreating(true)}>
              {text.create}
            </Button>
            <Link to="/rollouts/emergency" className="button">
              {text.emergency}
            </Link>
          </>
        }
      />
      <Options
        key={JSON.stringify(input)}
        search={search}
        chosen={planOptions(input)}
        isApplied={isApplied}
        onChange={(next) => {
          setApplied(true)
          change(next)
        }}
      />
      <Loaded query={plan} rows={10}>
        {(planned) => (
          <>
            <PlanView plan={planned} />
            <RehearsalSection input={input} plan={planned} />
            <p className="plan-foot dim">
              {text.made} <At at={planned.madeAt} /> · {words.page.manifest(planned.manifestRevision)}
            </p>
            <CliLine>{`tenantry rollouts plan${planOptions(input)}`}</CliLine>
            {creating && <CreateDialog plan={planned} input={input} onClose={() => setCreating(false)} />}
          </>
        )}
      </Loaded>
    </>
  )
}

/** `chosen`: the options that count now, as the CLI has them. `isApplied`: they were just chosen here, so the focus stays here. */
type OptionsProps = Readonly<{ search: SearchState; chosen: string; isApplied: boolean; onChange(next: SearchState): void }>

function Options({ search, chosen, isApplied, onChange }: OptionsProps) {
  const [only, setOnly] = useState(search.only ?? '')
  const [parallel, setParallel] = useState(search.parallel ?? '')
  const [bake, setBake] = useState(search.bake ?? '')
  const [windows, setWindows] = useState(search.windows === '1')
  const [long, setLong] = useState(search.long === '1')
  const [fence, setFence] = useState(search.fence ?? 'auto')
  const [snapshot, setSnapshot] = useState(search.snapshot ?? 'auto')
  return (
    <details className="options">
      <summary ref={(line) => void (isApplied && line?.focus())}>
        {text.options} {chosen ? <code>{chosen}</code> : text.noOptions}
      </summary>
      <Form
        className="option-form"
        onSubmit={(event) => {
          event.preventDefault()
          const modeOf = (mode: string) => (mode === 'auto' ? '' : mode)
          const flags = { windows: windows ? '1' : '', long: long ? '1' : '' }
          onChange({ only, parallel, bake, ...flags, fence: modeOf(fence), snapshot: modeOf(snapshot) })
        }}
      >
        <div className="option-row">
          <Field label={text.only} hint={text.onlyHint} value={only} onChange={setOnly} />
          <Field label={text.parallel} value={parallel} onChange={setParallel} inputMode="numeric" />
          <Field label={text.bake} value={bake} onChange={setBake} inputMode="numeric" />
        </div>
        <div className="option-row">
          <Check isSelected={windows} onChange={setWindows}>
            {text.ignoreWindows}
          </Check>
          <Check isSelected={long} onChange={setLong}>
            {text.allowLongFence}
          </Check>
        </div>
        <div className="option-row">
          <Choices
            label={text.fenceMode}
            value={fence}
            onChange={setFence}
            choices={fenceModes.map((value) => ({ value, label: fenceModeText(value) ?? text.autoMode }))}
          />
          <Choices
            label={text.snapshotMode}
            value={snapshot}
            onChange={setSnapshot}
            choices={snapshotModes.map((value) => ({ value, label: snapshotModeText(value) ?? text.autoSnapshot }))}
          />
        </div>
        <Button type="submit">{text.apply}</Button>
      </Form>
    </details>
  )
}
