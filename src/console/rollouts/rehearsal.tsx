import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Form } from 'react-aria-components'
import { duration } from '../../core/kit/index.ts'
import { type Rehearsal, type RehearsedBox, type RolloutPlan, statusWord, whyOf } from '../../core/rollouts/index.ts'
import { api, Button, CliLine, Field, Loading, ProblemView, Section, Status, useMay } from '../kit/index.ts'
import { courseOf } from './expected-course.ts'
import { PlannedGates } from './gates.tsx'
import { planOptions } from './plan-words.ts'
import type { PlanInput } from './queries.ts'
import { rehearsalWords as text } from './rehearsal-words.ts'
import { words } from './words.ts'

const RehearsalChart = lazy(() => import('./rehearsal-chart.tsx'))

type Faults = Readonly<{ fail: string; failRate: string; offline: string; seed: string; runs: string }>
const noFaults: Faults = { fail: '', failRate: '', offline: '', seed: '1', runs: '1' }
const maxRuns = 9

const list = (typed: string): string[] => typed.split(/[\s,]+/).filter(Boolean)
const share = (typed: string): number => Math.min(1, Math.max(0, (Number(typed.replace(',', '.')) || 0) / 100))
const whole = (typed: string, max: number): number => Math.min(max, Math.max(0, Math.floor(Number(typed)) || 0))

/** A rollout in virtual time, with the faults that the operator names. */
export function RehearsalSection({ input, plan }: Readonly<{ input: PlanInput; plan: RolloutPlan }>) {
  const [faults, setFaults] = useState(noFaults)
  const { why } = useMay('rollouts', 'rehearseRollout')
  const rehearse = useMutation({ mutationFn: () => api.rollouts.rehearseRollout({ body: requestOf(input, faults) }) })
  const field = (name: keyof Faults) => ({
    label: text[name],
    value: faults[name],
    onChange: (value: string) => setFaults({ ...faults, [name]: value }),
  })
  const blocked = why ?? (plan.updates === 0 ? words.plan.nothing : undefined)
  return (
    <Section title={text.title} aside={text.intro}>
      <Form
        className="option-fields"
        onSubmit={(event) => {
          event.preventDefault()
          if (!blocked) rehearse.mutate()
        }}
      >
        <Field {...field('fail')} hint={words.plan.onlyHint.split(';')[0]} />
        <Field {...field('failRate')} inputMode="decimal" />
        <Field {...field('offline')} />
        <Field {...field('seed')} inputMode="numeric" />
        <Field {...field('runs')} inputMode="numeric" />
        <Button type="submit" why={blocked} isDisabled={rehearse.isPending}>
          {rehearse.isPending ? `${text.running}…` : text.run}
        </Button>
      </Form>
      <CliLine>{`tenantry rollouts rehearse${planOptions(input)}${faultOptions(faults)}`}</CliLine>
      {rehearse.isError && <ProblemView error={rehearse.error} />}
      {rehearse.isPending && <Loading rows={4} label={text.running} />}
      {rehearse.data && !rehearse.isPending && <Rehearsed rehearsal={rehearse.data} />}
    </Section>
  )
}

function requestOf(input: PlanInput, { fail, failRate, offline, seed, runs }: Faults) {
  return {
    ...input,
    seed: whole(seed, 2 ** 31),
    runs: Math.max(1, whole(runs, maxRuns)),
    faults: { failProbes: list(fail), probeFailRate: share(failRate), offlineHosts: list(offline) },
  }
}

const faultOptions = ({ fail, failRate, offline, seed, runs }: Faults): string =>
  [
    list(fail).length > 0 && `--fail ${list(fail).join(',')}`,
    share(failRate) > 0 && `--fail-rate ${share(failRate)}`,
    list(offline).length > 0 && `--offline ${list(offline).join(',')}`,
    seed !== noFaults.seed && `--seed ${whole(seed, 2 ** 31)}`,
    runs !== noFaults.runs && `--runs ${Math.max(1, whole(runs, maxRuns))}`,
  ]
    .filter(Boolean)
    .map((option) => ` ${option}`)
    .join('')

function Rehearsed({ rehearsal }: Readonly<{ rehearsal: Rehearsal }>) {
  const { pauses, ended, makespanMs, worstMs, findings, phases, boxes } = rehearsal
  const course = courseOf(rehearsal)
  const refused = findings.filter(({ severity }) => severity === 'refuse')
  return (
    <div className="rehearsed" role="region" aria-label={text.chart}>
      <p>
        <Status tone={ended === 'stuck' || pauses.length > 0 ? 'failed' : 'ok'}>
          {ended === 'stuck' ? text.stuck : pauses.length > 0 ? text.pauses(pauses.length) : text.calm}
        </Status>{' '}
        {text.totals(makespanMs, worstMs, pauses.length > 0)}
      </p>
      {pauses.length > 0 && (
        <ul className="lines">
          {pauses.map(({ atMs, reason }) => (
            <li key={`${atMs} ${reason}`}>
              <span className="dim">{text.after(atMs)}</span>
              <span className="grow">{whyOf({ pauseReason: reason, error: null })}</span>
            </li>
          ))}
        </ul>
      )}
      {boxes.length > 0 && (
        <Suspense fallback={<Loading rows={6} />}>
          <RehearsalChart course={course} label={text.chartLabel(course, boxes.length)} />
        </Suspense>
      )}
      <div className="columns">
        <table className="plain">
          <thead>
            <tr>
              <th>{text.columns.phase}</th>
              <th className="right">{text.columns.boxes}</th>
              <th>{text.columns.begins}</th>
              <th>{text.columns.ends}</th>
            </tr>
          </thead>
          <tbody>
            {phases
              .filter((phase) => phase.boxes > 0)
              .map(({ phase, boxes: count, beginsMs, endsMs }) => (
                <tr key={phase}>
                  <td>{phase}</td>
                  <td className="right">{count}</td>
                  <td>{text.after(beginsMs)}</td>
                  <td>{text.after(endsMs)}</td>
                </tr>
              ))}
          </tbody>
        </table>
        <Longest boxes={boxes} />
      </div>
      <PlannedGates gates={rehearsal.gates} note={words.gates.rehearsalNote} />
      {refused.length > 0 && (
        <>
          <h3>{text.skipped}</h3>
          <ul className="lines">
            {refused.map(({ tenantSlug, message, code }) => (
              <li key={`${tenantSlug} ${code}`}>
                <Status tone="failed">{code}</Status>
                <span className="grow">
                  <b>{tenantSlug}</b>: {message}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

const maxLongest = 6

function Longest({ boxes }: Readonly<{ boxes: readonly RehearsedBox[] }>) {
  const longest = boxes
    .filter(({ fenceMs }) => fenceMs !== null)
    .toSorted((a, b) => (b.fenceMs ?? 0) - (a.fenceMs ?? 0))
    .slice(0, maxLongest)
  if (longest.length === 0) return null
  return (
    <table className="plain">
      <caption>{text.longest}</caption>
      <thead>
        <tr>
          <th>{text.slowestColumns.box}</th>
          <th>{text.slowestColumns.begins}</th>
          <th>{text.slowestColumns.result}</th>
          <th className="right">{text.slowestColumns.downtime}</th>
          <th className="right">{text.slowestColumns.max}</th>
        </tr>
      </thead>
      <tbody>
        {longest.map(({ tenantSlug, beginsMs, status, fenceMs, worstFenceMs }) => (
          <tr key={tenantSlug}>
            <td>{tenantSlug}</td>
            <td>{text.after(beginsMs)}</td>
            <td>{statusWord(status)}</td>
            <td className="right">{duration(fenceMs ?? 0)}</td>
            <td className="right">{duration(worstFenceMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
