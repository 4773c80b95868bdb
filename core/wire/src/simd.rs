//! Loops that the compiler vectorizes twice: for all machines of the architecture, and for machines with AVX2.

/// Defines a function whose body is also compiled with AVX2. At run time it selects the version that the machine
/// supports.
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
                    // SAFETY: the machine has AVX2 and BMI2, and every machine with BMI2 has BMI1.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}

pub(crate) use vectorized;
