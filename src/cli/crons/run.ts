import { clean, command } from '../kit/index.ts'

export const run = command(
  'run <job>',
  'Run a job now and wait for its end',
  {},
  async ({ api, progress }, { job }) => {
    const running = await progress(`having ${job} run`)
    try {
      return await api.crons.triggerCron({ params: { jobKey: job } })
    } finally {
      running.stop()
    }
  },
  ({ success, message }, { paint }) => `${success ? paint.green('done:') : paint.red('failed:')} ${clean(message)}`,
  { exit: ({ success }) => (success ? 0 : 1) },
)
