import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { duration, problem } from '../../core/kit/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  KeyValues,
  Loaded,
  PageHeader,
  queryClient,
  Section,
  Status,
  Timeline,
  useMay,
} from '../kit/index.ts'
import { cronsQuery, runTones } from './crons.ts'
import { words } from './words.ts'

export function Page() {
  const { key } = useParams({ strict: false }) as { key: string }
  const crons = useQuery(cronsQuery)
  const history = useQuery({
    queryKey: ['crons', 'history', key],
    queryFn: () => api.crons.cronHistory({ params: { jobKey: key }, query: { limit: 50 } }),
  })
  const [running, setRunning] = useState(false)
  const { why } = useMay('crons', 'triggerCron')
  const job = crons.data?.crons.find(({ jobKey }) => jobKey === key)
  return (
    <>
      <PageHeader
        title={key}
        answer={job?.lastRun && <Status tone={runTones[job.lastRun.status]}>{job.lastRun.status}</Status>}
        actions={
          <Button look="primary" why={why} onPress={() => setRunning(true)}>
            {words.run}…
          </Button>
        }
      />
      {job && (
        <KeyValues
          facts={[
            ['Description', job.description],
            ['Cron', `${job.expression} (UTC)`],
            ['Next run', <Ago key="next" at={job.nextRunAt} none="–" />],
          ]}
        />
      )}
      <Section title={words.history}>
        <Loaded query={history} rows={6}>
          {({ runs }) =>
            runs.length === 0 ? (
              <p className="dim">{words.noRuns}</p>
            ) : (
              <Timeline
                label={words.history}
                entries={runs.map(({ started_at, status, duration_ms, message }) => ({
                  key: `${started_at} ${status}`,
                  at: started_at,
                  tone: runTones[status],
                  text: `${status}${duration_ms === null ? '' : ` in ${duration(duration_ms)}`}`,
                  detail: message,
                }))}
              />
            )
          }
        </Loaded>
      </Section>
      {running && (
        <ActionDialog
          title={words.runTitle(key)}
          consequence={words.runConsequence}
          confirm={words.run}
          cli={() => `tenantry crons run ${key}`}
          run={async () => {
            const { success, message } = await api.crons.triggerCron({ params: { jobKey: key } })
            await queryClient.invalidateQueries({ queryKey: ['crons'] })
            if (!success) throw problem('CONFLICT', message)
          }}
          onClose={() => setRunning(false)}
        />
      )}
    </>
  )
}
