import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { ModuleHealthDetail, OperatedModule } from '../../core/modules/index.ts'
import { api, CliLine, exactTime, KeyValues, Loaded, PageHeader, Section, Status, timeOfDay } from '../kit/index.ts'
import { milliseconds, percent, priceText } from './numbers.ts'
import { words } from './words.ts'
import './modules.css'

/** One module over all tenants: its health now, and its course over the last hour. */
export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const health = useQuery({
    queryKey: ['modules', 'health', id],
    queryFn: () => api.modules.showModuleHealth({ params: { moduleId: id } }),
  })
  const modules = useQuery({ queryKey: ['modules', 'list'], queryFn: () => api.modules.listModules() })
  const listed = modules.data?.modules.find(({ moduleId }) => moduleId === id)
  const performance = health.data?.performance
  return (
    <>
      <PageHeader
        title={health.data?.name ?? id}
        answer={
          performance && (
            <Status tone={performance.healthy ? 'ok' : 'failed'}>{performance.healthy ? words.healthy : words.unhealthy}</Status>
          )
        }
      />
      <Loaded query={health} rows={6}>
        {(found) => (
          <>
            <KeyValues facts={factsOf(found, listed)} />
            <CliLine>{`tenantry modules show ${id}`}</CliLine>
            <Section title={words.lastHour} aside={words.lastHourAside}>
              <Course history={found.history} />
            </Section>
          </>
        )}
      </Loaded>
    </>
  )
}

const factsOf = ({ moduleId, version, activeInstallations, performance }: ModuleHealthDetail, listed: OperatedModule | undefined) =>
  [
    ['Module', moduleId],
    ['Version', version],
    ['Price', listed ? priceText(listed) : '–'],
    ['Active in', words.tenants(activeInstallations)],
    ['p95', milliseconds(performance.p95Ms)],
    ['p99', milliseconds(performance.p99Ms)],
    ['Errors', percent(performance.errorRate)],
    ['Violations', performance.violations.map(({ kind, count }) => `${kind} ${count}`).join(', ') || 'none'],
  ] as const

/** Newest first, as all histories. */
function Course({ history }: Pick<ModuleHealthDetail, 'history'>) {
  if (history.every(({ runs }) => runs === 0)) return <p className="dim">{words.noRuns}</p>
  const maxMs = Math.max(1, ...history.map(({ p99Ms }) => p99Ms))
  return (
    <table className="plain-table course" aria-label={words.lastHour}>
      <thead>
        <tr>
          <th>From</th>
          <th className="right">Runs</th>
          <th className="right">Errors</th>
          <th className="right">p95</th>
          <th className="right">p99</th>
          <th>
            <span className="unseen">p95 and p99 as a bar</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {history.toReversed().map(({ from, runs, errorRate, p95Ms, p99Ms }) => (
          <tr key={from} className={runs === 0 ? 'dim' : undefined}>
            <td>
              <time dateTime={from} title={exactTime(from)}>
                {timeOfDay(from)}
              </time>
            </td>
            <td className="right">{runs}</td>
            <td className="right">{runs === 0 ? '–' : errorRate > 0 ? <Status tone="failed">{percent(errorRate)}</Status> : percent(0)}</td>
            <td className="right">{runs === 0 ? '–' : milliseconds(p95Ms)}</td>
            <td className="right">{runs === 0 ? '–' : milliseconds(p99Ms)}</td>
            <td>
              <span className="two-meter" aria-hidden="true">
                <span className="p99" style={{ width: `${(p99Ms / maxMs) * 100}%` }} />
                <span style={{ width: `${(p95Ms / maxMs) * 100}%` }} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
