import type { Texts } from './en.ts'

export const fr: Texts = {
  hello: 'Bonjour,',
  'reset.subject': 'Votre mot de passe pour {organisation}',
  'reset.what': 'Un nouveau mot de passe a été demandé pour votre compte chez {organisation}. Définissez-le avec ce lien :',
  'reset.else': 'Si vous ne l’avez pas demandé, ignorez ce message : votre mot de passe reste inchangé.',
  'invitation.subject': 'Votre compte pour {organisation}',
  'invitation.what': '{organisation} a créé un compte pour vous. Choisissez votre mot de passe avec ce lien :',
  'invitation.else': 'Si vous ne connaissez pas cet établissement, ignorez ce message.',
  'link.valid': 'Votre identifiant est {username}. Le lien est valable une seule fois, jusqu’au {until}.',
  'maintenance.announced.subject': 'Maintenance de la messagerie de {organisation}',
  'maintenance.announced.within': 'Le serveur de messagerie de {organisation} sera mis à jour entre {from} et {to}.',
  'maintenance.announced.from': 'Le serveur de messagerie de {organisation} sera mis à jour, au plus tôt le {from}.',
  'maintenance.measured': 'La messagerie sera alors indisponible environ {duration}, durée mesurée lors de la dernière mise à jour.',
  'maintenance.estimated': 'La messagerie sera alors indisponible environ {duration} ; il s’agit d’une estimation.',
  'maintenance.kept': 'Aucun message n’est perdu, et les applications se reconnectent d’elles-mêmes.',
  'maintenance.moved': 'Si l’horaire change, vous le verrez ici : {url}',
  'maintenance.cancelled.subject': 'Pas de maintenance de la messagerie de {organisation}',
  'maintenance.cancelled.what': 'La mise à jour annoncée du serveur de messagerie de {organisation} n’aura pas lieu.',
  'maintenance.undone.subject': 'La messagerie de {organisation} revient à sa version précédente',
  'maintenance.undone.what':
    'La mise à jour du serveur de messagerie de {organisation} est annulée. La messagerie sera encore une fois indisponible un court instant.',
}
