import { type Gate, gatesOf, limitsText, type NoAnswer, valueText } from '../../core/rollouts/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import { newestManifest } from '../boxes/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import { type AskPrometheus, prometheusAt } from '../rollouts/index.ts'

/** Asks Prometheus once, where it is configured. */
export async function prometheusCheck({ prometheus }: Config): Promise<Check[]> {
  const ask = prometheusAt(prometheus)
  if (!ask) return []
  const answer = await ask('1')
  if ('value' in answer) return [passed('prometheus', `${prometheus.url} answers`)]
  return [failed('prometheus', answer.noAnswer.message, fixes[answer.noAnswer.code])]
}

/** Asks each gate of the manifest once. */
export async function gateChecks(db: Db, { prometheus }: Config): Promise<Check[]> {
  const gates = gatesOf('staged', (await newestManifest(db))?.manifest ?? {})
  if (gates.length === 0) return []
  const ask = prometheusAt(prometheus)
  if (!ask) {
    const names = gates.map(({ name }) => name).join(', ')
    return [failed('gates', `the manifest has gates (${names}), but prometheus.url is not set; no rollout starts`, fixes.NOT_CONFIGURED)]
  }
  return Promise.all(gates.map((gate) => gateCheck(ask, gate)))
}

async function gateCheck(ask: AskPrometheus, gate: Gate): Promise<Check> {
  const answer = await ask(gate.query)
  if ('noAnswer' in answer) {
    const { code, message } = answer.noAnswer
    return (code === 'REFUSED' ? failed : warning)('gates', `${gate.name}: no answer (${code}: ${message})`, fixes[code])
  }
  return passed('gates', `${gate.name}: ${valueText(answer.value)} now; must be ${limitsText(gate)}`)
}

const fixes = {
  NOT_CONFIGURED: 'set TENANTRY_PROMETHEUS_URL, or apply a manifest without gates',
  UNREACHABLE: 'check TENANTRY_PROMETHEUS_URL, TENANTRY_PROMETHEUS_TOKEN_FILE and that Prometheus runs',
  REFUSED: 'try the query in Prometheus, and check TENANTRY_PROMETHEUS_TOKEN_FILE',
  EMPTY: 'try the query in Prometheus; `or vector(0)` gives a value where no series matches',
  SEVERAL: 'aggregate the series to one, for example with `sum(…)` or `max(…)`',
  NOT_A_NUMBER: 'try the query in Prometheus; it must have one number as its answer, and a division by 0 has none',
} as const satisfies Record<NoAnswer['code'], string>
