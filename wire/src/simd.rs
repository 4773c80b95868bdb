//! Loops that the compiler vectorizes twice: for every machine of the architecture, and for those with AVX2.

/// Defines a function whose body is compiled a second time with AVX2, and picks by what the machine has.
macro_rules! vectorized {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident<$type:ident: $bound:path>($($argument:ident: $of:ty),*) -> $result:ty $body:block) => {
        $(#[$meta])*
        $visibility fn $name<$type: $bound>($($argument: $of),*) -> $result {
            #[inline(always)]
            fn portable<$type: $bound>($($argument: $of),*) -> $result $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2")]
                fn with_avx2<$type: $bound>($($argument: $of),*) -> $result {
                    portable($($argument),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi2") {
                    // SAFETY: the machine has AVX2 and BMI2, and with BMI2 comes BMI1.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}

pub(crate) use vectorized;
