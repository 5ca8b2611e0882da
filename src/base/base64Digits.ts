/** Digits of base64 by their value (RFC 4648 §4). */
export const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
