import type { Register } from './register.ts'

/** One-shot commands. Their code is imported when they run, so that `--help` stays fast. */
export const registerOneShots: Register = (program, machine, act) => {
  const admin = program.command('admin').description('Create and recover admin accounts on this machine')
  admin
    .command('create')
    .description('Create an account (password from prompt, stdin or file)')
    .requiredOption('--name <name>', 'login name')
    .option('--role <role>', 'viewer, reviewer, operator or admin', 'admin')
    .option('--password-file <file>', 'read the password from the first line of a file')
    .action(act(async (options) => (await import('./admin-create.ts')).adminCreate(machine, options)))
  admin
    .command('unlock')
    .description('Unlock an account after failed logins')
    .requiredOption('--name <name>', 'the account')
    .action(act(async (options) => (await import('./admin-rescue.ts')).adminUnlock(machine, options)))
  admin
    .command('reset-totp')
    .description('Remove the one-time codes and passkeys of an account, end its sessions')
    .requiredOption('--name <name>', 'the account')
    .action(act(async (options) => (await import('./admin-rescue.ts')).adminResetTotp(machine, options)))
  program
    .command('approval-token')
    .description('Create an approval token for emergency rollouts and its hash')
    .action(act(async (options) => (await import('./approval-token.ts')).approvalToken(machine, options)))
  program
    .command('rekey')
    .description('Re-encrypt all secrets with the first key of TENANTRY_SECRET_KEY')
    .action(act(async (options) => (await import('./rekey.ts')).rekey(machine, options)))
  program
    .command('backup')
    .description('Copy database and objects to a new folder while the daemon runs')
    .requiredOption('--to <folder>', 'the folder to create')
    .action(act(async (options) => (await import('./backup/backup.ts')).backup(machine, options)))
  program
    .command('restore')
    .description('Check a backup and fill an empty database from it')
    .requiredOption('--from <folder>', 'the folder of the backup')
    .option('--check', 'only check that the backup is complete')
    .action(act(async (options) => (await import('./backup/restore.ts')).restore(machine, options)))
  program
    .command('recovery-key')
    .description('Create a recovery key for snapshots')
    .action(act(async (options) => (await import('./recovery-key.ts')).makeRecoveryKey(machine, options)))
  program
    .command('recovery-password <tenantId...>')
    .description('Print the restic passwords of tenants from the recovery key')
    .option('--key-file <file>', 'read the recovery key from the first line of a file')
    .action(act(async (options, tenantIds) => (await import('./recovery-password.ts')).printRecoveryPasswords(machine, options, tenantIds)))
  program
    .command('check-config')
    .description('Show the effective settings, or all errors in them')
    .action(act(async (options) => (await import('./check-config.ts')).checkConfig(machine, options)))
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document')
    .action(act(async () => (await import('./openapi.ts')).openapi(machine)))
  program
    .command('doctor')
    .description("Check the daemon's dependencies and suggest fixes")
    .action(act(async (options) => (await import('./doctor.ts')).doctor(machine, options)))
}
