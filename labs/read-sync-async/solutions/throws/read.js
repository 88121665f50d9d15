'use strict';
throw new Error('before anything is read');
