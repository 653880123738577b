import type { Register } from './run-program.ts'

export const registerServe: Register = (program, machine, act) => {
  program
    .command('serve')
    .description('run the daemon until it is told to end')
    .action(act(async (options) => (await import('./serve.ts')).serveDaemon(machine, options)))
}
